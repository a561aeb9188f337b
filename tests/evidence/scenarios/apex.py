"""Training with apex, with tiny tensors: what it computes is compared with references in tests/apex."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.evidence.tensors import is_good


def run() -> Iterable[str]:
    """Uses apex as a program would."""
    for part in (_norms, _layers, _transformer, _optimizers, _lists, _amp, _casts, _fp16_utils, _parallel):
        part()
    return ()


def _random(*shape: int) -> Tensor:
    return torch.randn(shape, device="cuda").requires_grad_()


def _norms() -> None:
    import fused_layer_norm_cuda as extension
    from apex import normalization
    from apex.contrib.layer_norm import FastLayerNorm
    from apex.contrib.layer_norm.layer_norm import FastLayerNormFN
    from apex.normalization import fused_layer_norm as norms

    x, weight, bias = _random(2, 8), _random(8), _random(8)
    for layer in (FastLayerNorm, normalization.FusedLayerNorm, normalization.MixedFusedRMSNorm):
        assert is_good(layer(8).to("cuda")(x))
    assert is_good(normalization.FusedRMSNorm(8).to("cuda")(x))
    assert is_good(norms.fused_layer_norm(x, (8,)), norms.fused_rms_norm(x, (8,), 1e-5))
    assert is_good(norms.fused_layer_norm_affine(x, weight, bias, (8,), 1e-5))
    assert is_good(norms.fused_rms_norm_affine(x, weight, (8,), 1e-5))
    assert is_good(FastLayerNormFN.apply(x, weight, bias, 1e-5))
    assert is_good(extension.forward(x.detach(), (8,), 1e-5)[0])
    assert is_good(extension.forward_affine(x.detach(), (8,), weight, bias, 1e-5)[0].detach())
    assert is_good(extension.rms_forward_affine(x.detach(), (8,), weight, 1e-5)[0].detach())


def _layers() -> None:
    import fused_weight_gradient_mlp_cuda as dense
    import xentropy_cuda
    from apex.contrib import nccl_allocator
    from apex.contrib.group_norm import GroupNorm
    from apex.contrib.xentropy import SoftmaxCrossEntropyLoss

    assert is_good(GroupNorm(2, 4, act="silu").to("cuda")(_random(2, 4, 3)))
    scores, labels = _random(3, 5), torch.tensor([1, 2, 0], device="cuda")
    assert is_good(SoftmaxCrossEntropyLoss.apply(scores, labels))
    assert is_good(xentropy_cuda.forward(scores.detach(), labels, 0.0, False)[0])
    x, gradient = torch.ones(4, 6, device="cuda"), torch.ones(4, 3, device="cuda")
    dense.wgrad_gemm_accum_fp32(x, gradient, torch.zeros(3, 6, device="cuda"))
    dense.wgrad_gemm_accum_fp16(x.half(), gradient.half(), torch.zeros(3, 6, device="cuda").half())
    nccl_allocator.init()
    with nccl_allocator.nccl_mem(nccl_allocator.create_nccl_mem_pool()):
        assert is_good(torch.ones(4, device="cuda"))


def _transformer() -> None:
    from apex.transformer import AttnMaskType, functional
    from apex.transformer.functional import fused_softmax

    t, angles = _random(4, 1, 2, 16), torch.rand(4, 1, 1, 16, device="cuda")
    starts = torch.tensor([0, 4], dtype=torch.int32, device="cuda")
    assert is_good(functional.fused_apply_rotary_pos_emb(t, angles))
    assert is_good(functional.fused_apply_rotary_pos_emb_cached(t, angles.cos(), angles.sin()))
    assert is_good(functional.fused_apply_rotary_pos_emb_thd(t[:, 0].detach(), starts, angles))
    scores, mask = (
        torch.rand(1, 4, 32, 32, device="cuda").half(),
        torch.zeros(1, 1, 32, 32, device="cuda") > 0,
    )
    assert is_good(fused_softmax.generic_scaled_masked_softmax(scores, mask, 1.0))
    kind = AttnMaskType.padding
    assert is_good(functional.FusedScaleMaskSoftmax(True, False, kind, True, None, True, None)(scores, mask))


def _optimizers() -> None:
    from apex import optimizers
    from apex.contrib.clip_grad import clip_grad_norm_

    parameter = nn.Parameter(torch.ones(3, 2, device="cuda"))
    parameter.grad = torch.ones_like(parameter)
    assert is_good(clip_grad_norm_([parameter], 1.0))
    for name in ("Adam", "LAMB", "MixedPrecisionLamb", "SGD", "Adagrad", "NovoGrad"):
        getattr(optimizers, f"Fused{name}")([parameter], lr=0.1).step()
    assert is_good(parameter)


def _lists() -> None:
    import amp_C
    from apex.multi_tensor_apply import multi_tensor_applier
    from apex.parallel.distributed import flatten, unflatten

    ones, one = [torch.ones(3, device="cuda")], torch.ones(1, device="cuda")
    assert is_good(flatten(ones), *unflatten(flatten(ones), ones))
    flag = torch.zeros(1, device="cuda").int()
    for norm in (amp_C.multi_tensor_l2norm, amp_C.multi_tensor_l2norm_mp):
        assert is_good(multi_tensor_applier(norm, flag, [ones], True)[0])
    multi_tensor_applier(amp_C.multi_tensor_scale, flag, [ones, ones], 0.5)
    multi_tensor_applier(amp_C.multi_tensor_axpby, flag, [ones, ones, ones], 0.5, 0.5, -1)
    rates, modes = (0.1, 0.9, 0.999, 1e-8), (1, True, 0.01)
    multi_tensor_applier(amp_C.multi_tensor_adam, flag, [ones] * 4, *rates, 1, *modes)
    given = one * 0.1, *rates[1:], one.int(), *modes, one
    multi_tensor_applier(amp_C.multi_tensor_adam_capturable, flag, [ones] * 4, *given)
    multi_tensor_applier(amp_C.multi_tensor_lamb, flag, [ones] * 4, *rates, 1, 1, 0.0, 1, 1, one, 1.0, False)
    multi_tensor_applier(
        amp_C.multi_tensor_sgd, flag, [ones] * 3, 0.0, 0.9, 0.0, 0.1, False, True, False, 1.0
    )
    amp_C.update_scale_hysteresis(one, flag, flag + 1, one, 2.0, 0.5, 1000, 1)
    assert is_good(*ones, one)


def _amp() -> None:
    from apex import amp

    model = nn.Linear(4, 2).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer = amp.initialize(model, optimizer, opt_level="O2", verbosity=0)
    with amp.scale_loss(model(torch.ones(2, 4, device="cuda")).float().sum(), optimizer) as scaled:
        scaled.backward()
    optimizer.step()
    amp.load_state_dict(amp.state_dict())
    assert is_good(*(each.detach() for each in amp.master_params(optimizer)))


def _casts() -> None:
    from apex import amp

    from tests.apex.mixed import initialized, linear

    amp.register_float_function(torch, "sigmoid")
    amp.register_half_function(torch, "addmm")
    half = torch.ones(3, 3, device="cuda").half()
    with initialized(linear(), opt_level="O1"):
        assert torch.sigmoid(half).dtype == torch.float32
        assert torch.addmm(half.float(), half, half).dtype == torch.float16


def _fp16_utils() -> None:
    from apex import fp16_utils

    model = fp16_utils.network_to_half(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).to("cuda"))
    optimizer = fp16_utils.FP16_Optimizer(torch.optim.SGD(model.parameters(), lr=0.1), verbose=False)
    optimizer.backward(model(torch.ones(2, 4, device="cuda")).float().sum())
    optimizer.step()
    assert fp16_utils.to_python_float(torch.ones(1)) == 1
    layer = nn.Linear(2, 2).to("cuda").half()
    masters = [param.detach().float() for param in layer.parameters()]
    fp16_utils.master_params_to_model_params([*layer.parameters()], masters)


def _parallel() -> None:
    from apex.parallel import convert_syncbn_model
    from apex.parallel.LARC import LARC

    model = convert_syncbn_model(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))).to("cuda")
    loss = functional.mse_loss(model(_random(2, 4)), torch.ones(2, 4, device="cuda"))
    loss.backward()
    LARC(torch.optim.SGD(model.parameters(), lr=0.1)).step()
    assert is_good(*(each.detach() for each in model.parameters()))

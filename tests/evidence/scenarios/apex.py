"""Training with apex: its optimizers, norms, losses, and both generations of its mixed precision."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from tests.evidence.tensors import is_good


def run() -> Iterable[str]:
    """Uses apex as a program would."""
    for part in (_optimizers, _amp, _fp16_utils, _norms, _losses, _lists, _extensions, _transformer):
        part()
    return ()


def _parameters() -> list[nn.Parameter]:
    found = [nn.Parameter(torch.ones(shape, device="cuda")) for shape in ((3, 2), (4,))]
    for each in found:
        each.grad = torch.ones_like(each)
    return found


def _optimizers() -> None:
    from apex import optimizers
    from apex.parallel.LARC import LARC

    every: tuple[Any, ...] = (
        optimizers.FusedAdam(_parameters(), lr=0.1),
        optimizers.FusedAdam(_parameters(), lr=0.1, capturable=True, master_weights=True),
        optimizers.FusedLAMB(_parameters(), lr=0.1),
        optimizers.FusedSGD(_parameters(), lr=0.1, momentum=0.9),
        optimizers.FusedNovoGrad(_parameters(), lr=0.1),
        optimizers.FusedMixedPrecisionLamb(_parameters(), lr=0.1),
        LARC(torch.optim.SGD(_parameters(), lr=0.1)),
    )
    for optimizer in every:
        optimizer.step()
        optimizer.load_state_dict(optimizer.state_dict())
        optimizer.zero_grad()
        (first, *_) = optimizer.param_groups[0]["params"]
        assert is_good(first)
        assert float(first.detach().flatten()[0]) < 1


def _amp() -> None:
    from apex import amp

    model = nn.Linear(4, 2).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer = amp.initialize(model, optimizer, opt_level="O2", verbosity=0)
    with amp.scale_loss(model(torch.ones(2, 4, device="cuda")).float().sum(), optimizer) as scaled:
        scaled.backward()
    optimizer.step()
    assert is_good(*(each.detach() for each in amp.master_params(optimizer)))
    torch.save(amp.state_dict(), kept := io.BytesIO())
    amp.load_state_dict(torch.load(io.BytesIO(kept.getvalue())))


def _fp16_utils() -> None:
    from apex import fp16_utils

    model = fp16_utils.network_to_half(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).to("cuda"))
    inner = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer = fp16_utils.FP16_Optimizer(inner, dynamic_loss_scale=True, verbose=False)
    optimizer.backward(model(torch.ones(2, 4, device="cuda")).float().sum())
    optimizer.step()
    fp16_utils.master_params_to_model_params(*fp16_utils.prep_param_lists(nn.Linear(2, 2).to("cuda").half()))


def _norms() -> None:
    from apex import normalization
    from apex.contrib.group_norm import GroupNorm
    from apex.contrib.layer_norm import FastLayerNorm
    from apex.parallel import SyncBatchNorm, convert_syncbn_model

    x = torch.randn(2, 8, device="cuda", requires_grad=True)
    kinds = ("FusedLayerNorm", "FusedRMSNorm", "MixedFusedLayerNorm", "MixedFusedRMSNorm")
    for kind in (*(getattr(normalization, name) for name in kinds), FastLayerNorm):
        assert is_good(kind(8).to("cuda")(x))
    functional = normalization.fused_layer_norm
    weight, bias = (torch.ones(8, device="cuda", requires_grad=True) for _ in range(2))
    assert is_good(functional.fused_layer_norm(x, (8,)))
    assert is_good(functional.fused_rms_norm(x, (8,), memory_efficient=True))
    assert is_good(functional.fused_layer_norm_affine(x, weight, bias, (8,)))
    assert is_good(functional.fused_rms_norm_affine(x, weight, (8,)))
    image = torch.randn(2, 16, 4, 4, device="cuda", requires_grad=True)
    assert is_good(GroupNorm(8, 16, act="silu").to("cuda")(image))
    assert isinstance(convert_syncbn_model(nn.Sequential(nn.BatchNorm1d(8)))[0], SyncBatchNorm)


def _losses() -> None:
    from apex.contrib.clip_grad import clip_grad_norm_
    from apex.contrib.xentropy import SoftmaxCrossEntropyLoss

    logits, labels = torch.randn(2, 8, device="cuda", requires_grad=True), torch.tensor([1, 2], device="cuda")
    assert is_good(SoftmaxCrossEntropyLoss.apply(logits, labels, 0.1))
    assert is_good(clip_grad_norm_(_parameters(), 1.0))


def _lists() -> None:
    import amp_C
    import apex_C
    from apex.multi_tensor_apply import multi_tensor_applier

    flag = torch.zeros(1, dtype=torch.int, device="cuda")
    ones, others = ([torch.ones(3, device="cuda")] for _ in range(2))
    assert multi_tensor_applier.available
    multi_tensor_applier(amp_C.multi_tensor_scale, flag, [ones, others], 2.0)
    multi_tensor_applier(amp_C.multi_tensor_axpby, flag, [ones, others, others], 1.0, 2.0, -1)
    norm, _ = multi_tensor_applier(amp_C.multi_tensor_l2norm, flag, [ones], False)
    assert is_good(norm, apex_C.flatten(ones), *apex_C.unflatten(apex_C.flatten(ones), ones))


def _extensions() -> None:
    import fused_layer_norm_cuda
    import fused_weight_gradient_mlp_cuda
    import xentropy_cuda

    x, weight = torch.randn(2, 8, device="cuda"), torch.ones(8, device="cuda")
    assert is_good(*fused_layer_norm_cuda.forward_affine(x, (8,), weight, weight, 1e-5))
    assert is_good(*xentropy_cuda.forward(x, torch.tensor([1, 2], device="cuda"), 0.0, False))
    grown = torch.zeros(4, 8, device="cuda")
    fused_weight_gradient_mlp_cuda.wgrad_gemm_accum_fp32(x, torch.ones(2, 4, device="cuda"), grown)
    assert is_good(grown)


def _transformer() -> None:
    from apex.transformer import AttnMaskType
    from apex.transformer.functional import FusedScaleMaskSoftmax, fused_apply_rotary_pos_emb

    softmax = FusedScaleMaskSoftmax(False, False, AttnMaskType.causal, True, lambda x, mask: x, True, None)
    assert is_good(softmax(torch.randn(1, 2, 4, 4, device="cuda"), None))
    angles = torch.rand(4, 1, 1, 8, device="cuda")
    assert is_good(fused_apply_rotary_pos_emb(torch.randn(4, 1, 2, 8, device="cuda"), angles))

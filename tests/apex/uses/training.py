"""Uses of mixed precision, optimizers and gradient operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close

from tests.apex.mixed import batches, by_hand, initialized, network, sgd
from tests.apex.optimizer_formulas import Lamb
from tests.apex.uses import use, values


@use("apex")
def detected_as_libraries_detect_it() -> None:
    import importlib.util

    import apex

    assert importlib.util.find_spec("apex") is not None
    assert apex.amp.initialize is not None
    assert apex.optimizers.FusedAdam is not None


@use(
    "amp_C",
    "amp_C.multi_tensor_l2norm",
    "amp_C.multi_tensor_scale",
    "apex.multi_tensor_apply.multi_tensor_applier",
    "apex.multi_tensor_apply.multi_tensor_applier.available",
)
def gradients_clipped_as_megatron_and_fairseq_do() -> None:
    import amp_C
    from amp_C import multi_tensor_l2norm, multi_tensor_scale
    from apex.multi_tensor_apply import multi_tensor_applier

    assert multi_tensor_applier.available
    assert amp_C.multi_tensor_l2norm is multi_tensor_l2norm
    grads = [values(0, 3, 4), values(1, 5)]
    whole = torch.cat([each.flatten() for each in grads]).cpu().double()
    flag = torch.tensor([0], dtype=torch.int, device="cuda")
    norm, each = multi_tensor_applier(multi_tensor_l2norm, flag, [grads], True)
    assert_close(norm.cpu().double(), whole.norm().view(1), rtol=1e-6, atol=0)
    assert_close(each.cpu(), torch.stack([grad.norm() for grad in grads]).cpu())
    multi_tensor_applier(multi_tensor_scale, flag, [grads, grads], 0.25)
    assert_close(torch.cat([each.flatten() for each in grads]).cpu().double(), whole / 4)
    assert flag.item() == 0


@use(
    "apex.amp",
    "apex.amp.__dict__",
    "apex.amp.__path__",
    "apex.amp.initialize",
    "apex.amp.load_state_dict",
    "apex.amp.master_params",
    "apex.amp.scale_loss",
    "apex.amp.state_dict",
)
def training_as_timm_and_deepspeed_do() -> None:
    from apex import amp

    assert amp.__path__
    assert {"state_dict", "load_state_dict"} <= amp.__dict__.keys()
    model = network()
    with initialized(model, sgd(model.parameters()), opt_level="O1", loss_scale=256.0) as (model, optimizer):
        for input, target in batches():
            optimizer.zero_grad()
            with amp.scale_loss(F.cross_entropy(model(input), target), optimizer) as scaled:
                scaled.backward()
            assert torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1e6).isfinite()
            optimizer.step()
        amp.load_state_dict(amp.state_dict())
        assert amp.state_dict()["loss_scaler0"] == {"loss_scale": 256.0, "unskipped": 4}
    for mine, expected in zip(model.parameters(), by_hand("O1", 256.0).parameters(), strict=True):
        assert_close(mine, expected, rtol=2e-3, atol=2e-3)


@use(
    "apex.contrib.nccl_allocator",
    "apex.contrib.nccl_allocator.create_nccl_mem_pool",
    "apex.contrib.nccl_allocator.init",
    "apex.contrib.nccl_allocator.nccl_mem",
)
def pools_of_memory_as_megatron_does() -> None:
    import apex.contrib.nccl_allocator as nccl_allocator

    nccl_allocator.init()
    pool = nccl_allocator.create_nccl_mem_pool()
    with nccl_allocator.nccl_mem(pool):
        buffer = torch.zeros(1024, device="cuda")
    assert buffer.add_(1).sum().item() == 1024


def stepped(optimizer: Callable[..., Any], **options: Any) -> list[Tensor]:
    """Returns the parameters after three steps of an optimizer."""
    params = [nn.Parameter(values(0, 3, 4)), nn.Parameter(values(1, 5))]
    made = optimizer(params, **options)
    for seed in range(3):
        for param in params:
            param.grad = values(seed, *param.shape)
        made.step()
    return [param.detach() for param in params]


@use("apex.optimizers.FusedAdam")
def adam_as_deepspeed_and_fairseq_do() -> None:
    from apex.optimizers import FusedAdam

    shared = {"lr": 0.1, "betas": (0.9, 0.98), "eps": 1e-8, "weight_decay": 0.1}
    for decoupled, own in ((True, torch.optim.AdamW), (False, torch.optim.Adam)):
        ours = stepped(FusedAdam, bias_correction=True, adam_w_mode=decoupled, **shared)
        assert_close(ours, stepped(own, **shared))


@use("apex.optimizers.FusedSGD")
def sgd_as_megatron_does() -> None:
    from apex.optimizers import FusedSGD

    options = {"lr": 0.1, "weight_decay": 0.1, "momentum": 0.9}
    assert_close(stepped(FusedSGD, **options), stepped(torch.optim.SGD, **options))


@use("apex.optimizers.FusedLAMB")
def lamb_as_fairseq_does() -> None:
    from apex.optimizers import FusedLAMB

    options = {"lr": 0.1, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.1}
    modes = {"adam_w_mode": True, "bias_correction": True, "grad_averaging": True, "use_nvlamb": False}
    start = [values(0, 3, 4).cpu().double(), values(1, 5).cpu().double()]
    formula = Lamb({**options, **modes, "max_grad_norm": 1.0}, start)
    for seed in range(3):
        formula.step([values(seed, *param.shape).cpu().double() for param in start])
    for mine, expected in zip(stepped(FusedLAMB, **options), formula.params, strict=True):
        assert_close(mine.cpu().double(), expected, rtol=1e-5, atol=1e-6)


@use("apex.contrib.clip_grad.clip_grad_norm_")
def gradients_clipped_as_monai_does() -> None:
    from apex.contrib.clip_grad import clip_grad_norm_

    param = nn.Parameter(values(0, 3, 4))
    param.grad = values(1, 3, 4) * 10
    norm = clip_grad_norm_([param], 1.0)
    assert_close(norm, values(1, 3, 4).norm() * 10)
    assert param.grad.norm() <= 1.0 + 1e-5


@use(
    "apex.fp16_utils",
    "apex.fp16_utils.FP16_Optimizer",
    "apex.fp16_utils.network_to_half",
    "apex.fp16_utils.to_python_float",
)
def training_as_scripts_of_2019_do() -> None:
    space: dict[str, Any] = {"__name__": __name__}
    exec("from apex.fp16_utils import *", space)
    model = space["network_to_half"](network())
    optimizer = space["FP16_Optimizer"](sgd(model.parameters()), static_loss_scale=128.0, verbose=False)
    (input, target), *_ = batches()
    loss = F.cross_entropy(model(input), target)
    optimizer.zero_grad()
    optimizer.backward(loss)
    optimizer.step()
    assert space["to_python_float"](F.cross_entropy(model(input), target).detach()) < loss.item()


@use("apex.optimizers.FusedMixedPrecisionLamb", "apex.optimizers.FusedNovoGrad")
def optimizers_as_timm_and_bert_do() -> None:
    from apex.optimizers import FusedLAMB, FusedMixedPrecisionLamb, FusedNovoGrad

    options = {"lr": 0.1, "betas": (0.9, 0.999), "weight_decay": 0.1}
    assert_close(stepped(FusedMixedPrecisionLamb, **options), stepped(FusedLAMB, **options))
    norms = [param.norm() for param in stepped(FusedNovoGrad, lr=0.1, betas=(0.95, 0.98))]
    assert all(norm.isfinite() for norm in norms)


@use(
    "amp_C.multi_tensor_adam",
    "amp_C.multi_tensor_adam_capturable",
    "amp_C.multi_tensor_lamb",
    "amp_C.multi_tensor_sgd",
)
def updates_as_copies_of_apex_call_them() -> None:
    import amp_C
    from apex.multi_tensor_apply import multi_tensor_applier

    flag, param = torch.zeros(1, dtype=torch.int, device="cuda"), nn.Parameter(values(0, 5))
    param.grad = values(1, 5)
    expected = stepped_once(torch.optim.AdamW, param)
    rates, modes = (0.1, 0.9, 0.999, 1e-8), (1, True, 0.01)
    for capturable in (False, True):
        lists = [[param.grad], [param.detach().clone()], *([torch.zeros_like(param)] for _ in range(2))]
        if capturable:
            one = torch.ones(1, device="cuda")
            given = (one * 0.1, *rates[1:], one.int(), *modes, one)
            multi_tensor_applier(amp_C.multi_tensor_adam_capturable, flag, lists, *given)
        else:
            multi_tensor_applier(amp_C.multi_tensor_adam, flag, lists, *rates, 1, *modes)
        assert_close(lists[1][0], expected)
    lists = [[param.grad], [param.detach().clone()], [torch.zeros_like(param)]]
    multi_tensor_applier(amp_C.multi_tensor_sgd, flag, lists, 0.0, 0.9, 0.0, 0.1, False, True, False, 1.0)
    assert_close(lists[1][0], stepped_once(torch.optim.SGD, param))
    lists = [[param.grad], [param.detach().clone()], *([torch.zeros_like(param)] for _ in range(2))]
    norm = param.grad.norm().reshape(1)
    multi_tensor_applier(amp_C.multi_tensor_lamb, flag, lists, *rates, 1, 1, 0.0, 1, 1, norm, 1e6, False)
    assert_close(lists[1][0], param.detach() - 0.1 * param.grad.sign(), rtol=1e-4, atol=1e-4)


def stepped_once(optimizer: Callable[..., Any], param: nn.Parameter) -> Tensor:
    """Returns a parameter after one step of an optimizer at rate 0.1."""
    copied = nn.Parameter(param.detach().clone())
    copied.grad = param.grad
    optimizer([copied], lr=0.1).step()
    return copied.detach()


@use("amp_C.multi_tensor_axpby", "amp_C.update_scale_hysteresis", "apex.amp.scaler.LossScaler")
def scaling_as_nemo_and_copies_of_apex_do() -> None:
    import amp_C
    from apex.amp.scaler import LossScaler

    flag, ones = torch.zeros(1, dtype=torch.int, device="cuda"), torch.ones(3, device="cuda")
    amp_C.multi_tensor_axpby(65536, flag, [[ones], [ones * 2], [ones]], 3.0, 0.5, -1)
    assert ones.tolist() == [4.0] * 3
    scale, growth, kept = torch.full((1,), 16.0, device="cuda"), flag.clone(), flag + 1
    amp_C.update_scale_hysteresis(scale, growth, kept, torch.ones(1, device="cuda"), 2.0, 0.5, 1000, 1)
    assert scale.item() == 8.0
    scaler = LossScaler(loss_scale="dynamic", min_loss_scale=1.0)
    scaler.clear_overflow_state()
    scaler.unscale([ones], [ones], None)
    assert (scaler.update_scale(), ones[0].item()) == (False, 4.0 / 2**16)


@use(
    "apex.amp._amp_state",
    "apex.amp.amp.initialize",
    "apex.amp.register_float_function",
    "apex.amp.register_half_function",
)
def casts_as_scripts_register_them() -> None:
    from apex import amp
    from apex.amp import _amp_state
    from apex.amp import amp as same

    assert same.initialize is amp.initialize
    amp.register_float_function(torch, "sigmoid")
    amp.register_half_function(torch, "addmm")
    half = values(0, 3, 3).half()
    with initialized(network(), opt_level="O1"):
        assert torch.sigmoid(half).dtype == torch.float32
        assert torch.addmm(half.float(), half, half).dtype == torch.float16
        assert _amp_state.loss_scalers[0].loss_scale() == 2**16
    assert torch.sigmoid(half).dtype == torch.float16


@use(
    "apex.parallel.DistributedDataParallel",
    "apex.parallel.LARC.LARC",
    "apex.parallel.Reducer",
    "apex.parallel.convert_syncbn_model",
    "apex.parallel.distributed.flat_dist_call",
    "apex.parallel.optimized_sync_batchnorm.SyncBatchNorm",
)
def parallel_training_as_scripts_do() -> None:
    """The rest of it is in two processes: see programs/two_processes.py."""
    from apex import parallel
    from apex.parallel.distributed import flat_dist_call
    from apex.parallel.LARC import LARC
    from apex.parallel.optimized_sync_batchnorm import SyncBatchNorm

    model = parallel.convert_syncbn_model(network())
    assert isinstance(model.norm, SyncBatchNorm)
    optimizer = LARC(sgd(model.parameters()), trust_coefficient=0.001, clip=False)
    (input, target), *_ = batches()
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        losses.append(F.cross_entropy(model(input), target))
        losses[-1].backward()
        optimizer.step()
    assert losses[-1] < losses[0]
    assert issubclass(parallel.DistributedDataParallel, nn.parallel.DistributedDataParallel)
    assert callable(parallel.Reducer)
    assert callable(flat_dist_call)

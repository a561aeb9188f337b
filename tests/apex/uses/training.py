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

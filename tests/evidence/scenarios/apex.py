"""Training with apex: each use of it in public projects, and what none of them needs."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from tests.evidence.tensors import is_good


def run() -> Iterable[str]:
    """Uses apex as a program would."""
    from tests.apex.uses import USES, layers, training

    assert {each.__module__ for each in USES.values()} == {layers.__name__, training.__name__}
    for part in (*dict.fromkeys(USES.values()), _optimizer, _amp, _fp16_utils, _norms, _lists):
        part()
    return ()


def _optimizer() -> None:
    from apex.optimizers import FusedAdagrad

    parameter = nn.Parameter(torch.ones(3, 2, device="cuda"))
    parameter.grad = torch.ones_like(parameter)
    FusedAdagrad([parameter], lr=0.1).step()
    assert is_good(parameter)
    assert float(parameter.detach().max()) < 1


def _amp() -> None:
    from apex import amp

    model = nn.Linear(4, 2).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer = amp.initialize(model, optimizer, opt_level="O2", verbosity=0)
    with amp.scale_loss(model(torch.ones(2, 4, device="cuda")).float().sum(), optimizer) as scaled:
        scaled.backward()
    optimizer.step()
    assert is_good(*(each.detach() for each in amp.master_params(optimizer)))


def _fp16_utils() -> None:
    from apex import fp16_utils

    model = fp16_utils.network_to_half(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).to("cuda"))
    assert is_good(model(torch.ones(2, 4, device="cuda")))
    fp16_utils.master_params_to_model_params(*fp16_utils.prep_param_lists(nn.Linear(2, 2).to("cuda").half()))


def _norms() -> None:
    from apex import normalization

    x = torch.randn(2, 8, device="cuda", requires_grad=True)
    assert is_good(normalization.FusedRMSNorm(8).to("cuda")(x))
    assert is_good(normalization.fused_layer_norm.fused_layer_norm(x, (8,)))


def _lists() -> None:
    from apex.parallel.distributed import flatten, unflatten

    ones = [torch.ones(3, device="cuda")]
    assert is_good(flatten(ones), *unflatten(flatten(ones), ones))

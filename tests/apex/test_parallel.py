"""apex.parallel in one process; for two processes see programs/two_processes.py."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from tests.later import Later, later

DistributedDataParallel, SyncBatchNorm = later("apex.parallel", "DistributedDataParallel", "SyncBatchNorm")
LARC = Later("apex.parallel.LARC", "LARC")


@pytest.mark.parametrize("clip", [True, False])
def test_layerwise_rates(clip: bool) -> None:
    params = [
        nn.Parameter(torch.linspace(-1, 1, 6, device="cuda")),
        nn.Parameter(torch.zeros(3, device="cuda")),
    ]
    inner = torch.optim.SGD(params, lr=0.5, weight_decay=0.1)
    optimizer = LARC(inner, trust_coefficient=0.05, clip=clip)
    assert optimizer.param_groups is inner.param_groups
    assert optimizer.state_dict() == inner.state_dict()
    assert repr(optimizer) == repr(inner)
    for param in params:
        param.grad = torch.full_like(param, 0.2)
    value, grad = params[0].detach().cpu().double(), torch.full((6,), 0.2).double()
    rate = 0.05 * value.norm() / (grad.norm() + 0.1 * value.norm() + 1e-8)
    rate = min(rate / 0.5, 1) if clip else rate
    optimizer.step()
    assert_close(
        params[0].detach().cpu().double(), value - 0.5 * rate * (grad + 0.1 * value), atol=1e-6, rtol=1e-5
    )
    assert_close(params[1].detach().cpu(), torch.full((3,), -0.1))  # norm zero: the plain gradient
    assert inner.param_groups[0]["weight_decay"] == 0.1
    optimizer.zero_grad()
    assert params[0].grad is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("channel_last", [False, True])
def test_batch_normalisation_of_one_process(dtype: torch.dtype, channel_last: bool) -> None:
    input = (torch.randn(4, 5, 3, 2, device="cuda") * 2 + 1).to(dtype)
    added = torch.randn(4, 5, 3, 2, device="cuda").to(dtype)
    ours = SyncBatchNorm(5, channel_last=channel_last, fuse_relu=True).cuda()
    leaf, with_it = input.clone().requires_grad_(), added.clone().requires_grad_()
    expected_leaf, expected_with_it = (each.float().requires_grad_() for each in (input, added))
    arranged = (leaf.movedim(1, -1), with_it.movedim(1, -1)) if channel_last else (leaf, with_it)
    output = ours(*arranged)
    output = output.movedim(-1, 1) if channel_last else output
    before = F.batch_norm(expected_leaf, None, None, training=True) + expected_with_it
    expected = F.relu(before)
    tolerance = 1e-5 if dtype == torch.float32 else 1e-2
    assert output.dtype == dtype
    assert_close(output.float(), expected, rtol=tolerance, atol=tolerance)
    weights = torch.randn(output.shape, device="cuda")
    weights[before.abs() < tolerance] = 0  # where rounding decides on which side of 0 a number lies
    (output.float() * weights).sum().backward()
    (expected * weights).sum().backward()
    assert_close(leaf.grad.float(), expected_leaf.grad, rtol=10 * tolerance, atol=10 * tolerance)
    assert_close(with_it.grad.float(), expected_with_it.grad, rtol=10 * tolerance, atol=10 * tolerance)


def test_batch_normalisation_of_one_value() -> None:
    with pytest.raises(ValueError, match="Expected more than 1 value per channel when training"):
        SyncBatchNorm(3).cuda()(torch.ones(1, 3, device="cuda"))


def test_options_that_do_not_go_together() -> None:
    model = nn.Linear(2, 2).cuda()
    for options, message in (
        ({"num_allreduce_streams": 2, "delay_allreduce": True}, "only be used if delay_allreduce=False"),
        ({"shared_param": True}, "shared_param is no longer supported"),
        ({"allreduce_trigger_params": [], "delay_allreduce": True}, "only valid if delay_allreduce=False"),
    ):
        with pytest.raises(ValueError, match=message):
            DistributedDataParallel(model, **options)

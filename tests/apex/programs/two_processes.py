"""Run by torchrun: a script of 2019, then apex.parallel compared with one process that has both batches."""

import copy
import os
import pathlib
import runpy
import sys
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.distributed as dist
from apex.parallel import (
    DistributedDataParallel,
    Reducer,
    SyncBatchNorm,
    convert_syncbn_model,
    create_syncbn_process_group,
)
from apex.parallel.distributed import flat_dist_call, split_by_type
from torch import Tensor, nn
from torch.testing import assert_close


def model_of(seed: int) -> nn.Sequential:
    torch.manual_seed(seed)
    layers = nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2, bias=False)
    return nn.Sequential(*layers).cuda()


def batches(count: int, size: int = 4, shape: tuple[int, ...] = (5,)) -> Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.randn(count, 2, size, *shape, generator=generator).cuda()


def trained(
    model: nn.Module, inputs: Iterable[Tensor], dtype: torch.dtype = torch.float32, parts: int = 1
) -> list[list[Tensor]]:
    """Trains on the mean over the parts of the batch of their sums; returns the gradients of every step."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    seen = []
    for input in inputs:
        optimizer.zero_grad()
        (model(input.to(dtype)).float().square().sum() / parts).backward()
        seen.append([param.grad.clone() for param in model.parameters() if param.grad is not None])
        optimizer.step()
    return seen


def check_data_parallelism(rank: int) -> None:
    steps = batches(4)
    whole = trained(model_of(0), steps.flatten(1, 2), parts=2)
    for options in (
        {},
        {"delay_allreduce": True},
        {"message_size": 1},
        {"message_size": 40, "allreduce_always_fp32": True},
        {"message_size": 1, "num_allreduce_streams": 2},
        {"message_size": 1, "retain_allreduce_buffers": True},
        {"gradient_predivide_factor": 2.0, "prof": True},
    ):
        print("rank", rank, options)  # the last one printed is the one that failed
        model = model_of(rank)  # rank 0's weights are broadcast
        wrapped = DistributedDataParallel(model, **options)
        for ours, theirs in zip(trained(wrapped, steps[:, rank]), whole, strict=True):
            for mine, expected in zip(ours, theirs, strict=True):
                assert_close(mine, expected)
    model = model_of(rank)
    wrapped = DistributedDataParallel(
        model, gradient_average=False, allreduce_trigger_params=[model[2].weight]
    )
    assert_close(trained(wrapped, steps[:2, rank])[0][0], whole[0][0] * 2)
    for dtype, delay in ((torch.float16, False), (torch.bfloat16, False), (torch.bfloat16, True)):
        low = DistributedDataParallel(model_of(rank).to(dtype), delay_allreduce=delay)
        for ours, theirs in zip(trained(low, steps[:, rank], dtype), whole, strict=True):
            assert_close(ours[0].float(), theirs[0], rtol=0.1, atol=0.15 if dtype == torch.bfloat16 else 0.02)


def check_gradients_that_add_up(rank: int) -> None:
    steps = batches(3)
    wrapped = DistributedDataParallel(model_of(rank), message_size=1)
    whole = model_of(0)
    for _ in range(2):
        whole.zero_grad()
        for step in steps[:2]:
            (whole(step.flatten(0, 1)).square().sum() / 2).backward()
        wrapped.zero_grad()
        wrapped.disable_allreduce()
        wrapped(steps[0, rank]).square().sum().backward()
        wrapped.enable_allreduce()
        wrapped(steps[1, rank]).square().sum().backward()
        for mine, expected in zip(wrapped.parameters(), whole.parameters(), strict=True):
            assert_close(mine.grad, expected.grad)


def check_unused_parameters(rank: int) -> None:
    model = nn.ModuleDict({"used": nn.Linear(5, 2), "unused": nn.Linear(5, 2)}).cuda()
    model.forward = lambda input: model["used"](input)
    wrapped = DistributedDataParallel(model, message_size=1)
    for _ in range(3):
        wrapped(batches(1)[0, rank]).sum().backward()
    assert model["unused"].weight.grad is None


def check_batch_normalisation(rank: int) -> None:
    whole = batches(1, shape=(6, 3, 3))[0]
    for of_channels, sizes in ((6, (3, 5)), (6, (4, 4))):
        parts = list(whole.flatten(0, 1).split(list(sizes)))
        cases: list[tuple[dict[str, Any], Callable[[Tensor], Tensor]]] = [
            ({}, lambda each: each),
            ({"channel_last": True}, lambda each: each.movedim(1, -1)),
            ({"channel_last": True, "fuse_relu": True}, lambda each: each.movedim(1, -1)),
            ({"momentum": None}, lambda each: each),
        ]
        for options, arranged in cases:
            ours = SyncBatchNorm(of_channels, **options).cuda()
            theirs = nn.BatchNorm2d(of_channels, momentum=options.get("momentum", 0.1)).cuda()
            for module in (ours, theirs):
                nn.init.constant_(module.weight, 1.5)
                nn.init.constant_(module.bias, 0.25)
            mine = arranged(parts[rank]).detach().requires_grad_()
            full = whole.flatten(0, 1).detach().requires_grad_()
            with_relu = options.get("fuse_relu", False)
            expected = theirs(full).relu() if with_relu else theirs(full)
            output = ours(mine)
            own = slice(0, sizes[0]) if rank == 0 else slice(sizes[0], None)
            assert_close(output, arranged(expected[own]), rtol=1e-4, atol=1e-5)
            weights = torch.linspace(-1, 1, full.numel()).cuda().reshape(full.shape)
            (output * arranged(weights[own])).sum().backward()
            (expected * weights).sum().backward()
            assert_close(mine.grad, arranged(full.grad[own]), rtol=1e-3, atol=1e-4)
            Reducer(gradients := [ours.weight.grad, ours.bias.grad]).reduce()
            assert_close(gradients[0] * 2, theirs.weight.grad, rtol=1e-4, atol=1e-4)
            assert_close(gradients[1] * 2, theirs.bias.grad, rtol=1e-4, atol=1e-4)
            assert_close(ours.running_mean, theirs.running_mean)
            assert_close(ours.running_var, theirs.running_var)
            assert ours.num_batches_tracked == 1
            ours.eval()
            theirs.eval()
            evaluated = theirs(full).relu() if with_relu else theirs(full)
            assert_close(ours(mine), arranged(evaluated[own]), rtol=1e-4, atol=1e-5)


def check_conversion(rank: int) -> None:
    model = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Sequential(nn.InstanceNorm1d(4))).cuda()
    whole = batches(1)[0]
    reference = copy.deepcopy(model[:2])
    alone = create_syncbn_process_group(1)
    assert dist.get_world_size(alone) == 1
    assert create_syncbn_process_group(0) is None
    converted = convert_syncbn_model(model, process_group=create_syncbn_process_group(2))
    assert isinstance(converted[1], SyncBatchNorm)
    assert isinstance(converted[2][0], nn.InstanceNorm1d)
    assert_close(converted[:2](whole[rank]), reference(whole.flatten(0, 1)).unflatten(0, (2, 4))[rank])
    apart = SyncBatchNorm(4, process_group=alone).cuda()
    assert_close(apart(whole[rank][:, :4]), nn.BatchNorm1d(4).cuda()(whole[rank][:, :4]))


def check_flat_collectives(rank: int) -> None:
    tensors = [torch.full((2,), rank + 1.0).cuda(), torch.full((3, 1), rank * 4.0).cuda().half()]
    assert len(split_by_type(tensors)) == 2
    flat_dist_call(tensors, dist.all_reduce)
    assert [each.unique().tolist() for each in tensors] == [[1.5], [2.0]]
    module = nn.Linear(2, 2).cuda()
    nn.init.constant_(module.weight, rank + 5.0)
    reducer = Reducer(module)
    assert module.weight.unique().tolist() == [5.0]
    (module(torch.ones(1, 2).cuda()) * (rank + 1)).sum().backward()
    reducer.reduce()
    assert module.weight.grad.unique().tolist() == [1.5]


def run_a_script(rank: int) -> None:
    """Runs the unmodified script, which creates the process group and does not destroy it."""
    script = str(pathlib.Path(__file__).with_name("imagenet.py"))
    sys.argv = [script, "--opt-level", "O2", "--sync_bn"]
    runpy.run_path(script, run_name="__main__")
    assert dist.get_rank() == rank


def main() -> None:
    rank = int(os.environ["RANK"])
    for check in (
        run_a_script,
        check_data_parallelism,
        check_gradients_that_add_up,
        check_unused_parameters,
        check_batch_normalisation,
        check_conversion,
        check_flat_collectives,
    ):
        check(rank)
        if rank == 0:
            print(check.__name__, "holds")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

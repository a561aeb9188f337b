"""Process groups of nccl: how they are made, split and ended, and the order of their collectives."""

import functools
import operator
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

from tests.software.processes import ranks
from tests.software.processes.collectives import of
from tests.software.processes.ranks import same


def groups(rank: int, size: int) -> None:
    assert dist.get_backend() == "nccl" == dist.Backend.NCCL
    backend = dist.group.WORLD._get_backend(torch.device("cuda"))
    assert isinstance(backend, dist.ProcessGroupNCCL)
    options = dist.ProcessGroupNCCL.Options(is_high_priority_stream=True)
    options.config.min_ctas = 1
    pairs = [dist.new_group([each, each + 1], pg_options=options) for each in range(0, size - 1, 2)]
    own = pairs[rank // 2]
    tensor = of(rank).cuda()
    dist.all_reduce(tensor, group=own)
    first = rank // 2 * 2
    same(tensor, of(first) + of(first + 1), "new_group")
    assert dist.get_backend(own) == "nccl"
    dist.destroy_process_group(own)
    dist.group.WORLD.bound_device_id = torch.device("cuda", rank)  # as init_process_group(device_id=...) does
    half = dist.split_group(split_ranks=[[0, 1], list(range(2, size))])
    tensor = of(rank).cuda()
    dist.all_reduce(tensor, group=half)
    expected = [of(each) for each in ([0, 1] if rank < 2 else range(2, size))]
    same(tensor, functools.reduce(operator.add, expected), "split_group")
    dist.barrier(device_ids=[rank])


def in_order(rank: int, size: int) -> None:
    tensor, parts = torch.ones(1 << 20, device="cuda"), torch.empty(size << 20, device="cuda")
    dist.all_reduce(tensor, async_op=True)
    dist.all_gather_into_tensor(parts, tensor, async_op=True)
    dist.all_reduce(tensor, async_op=True)
    torch.cuda.synchronize()
    same(tensor[:1], torch.tensor([float(size * size)]), "the second sum")
    same(parts[:: 1 << 20], torch.full((size,), float(size)), "what was gathered between")


def temporary_inputs(rank: int, size: int) -> None:
    """Memory of an input that nobody holds is not given to the next tensor before the collective's end."""
    for _ in range(20):
        parts = torch.empty(size << 12, device="cuda")
        work = dist.all_gather_into_tensor(
            parts, torch.full((1 << 12,), float(rank), device="cuda"), async_op=True
        )
        others = [torch.full((1 << 12,), -1.0, device="cuda") for _ in range(4)]
        work.wait()
        same(parts[:: 1 << 12], torch.arange(float(size)), "what was gathered")
        same(torch.stack(others)[:, 0], torch.full((4,), -1.0), "what was made meanwhile")


def shared_devices(rank: int, size: int) -> None:
    everyone = dist.new_group()
    with pytest.raises(dist.DistBackendError, match="Duplicate GPU detected : rank 1 and rank 0"):
        dist.all_reduce(torch.ones(1, device="cuda:0"), group=everyone)


def wrong_splits(rank: int, size: int) -> None:
    everyone, tensor = dist.new_group(), torch.ones(size, device="cuda")
    with pytest.raises(RuntimeError, match="Number of tensor splits not equal to group size"):
        dist.all_to_all_single(torch.empty_like(tensor), tensor, [1, 2], [1, 2], group=everyone)
    dist.all_reduce(tensor, group=everyone)
    same(tensor, torch.full((size,), float(size)), "a group after a refusal")


def sequence(rank: int, size: int) -> None:
    everyone = dist.new_group()
    numbers = [everyone._get_sequence_number_for_group()]
    for _ in range(2):
        dist.all_reduce(torch.ones(1, device="cuda"), group=everyone)
        numbers.append(everyone._get_sequence_number_for_group())
    assert numbers == [0, 1, 2], numbers


def one_store(rank: int, size: int) -> None:
    store = dist.distributed_c10d._get_default_store()
    for _ in range(2):
        dist.destroy_process_group()
        dist.init_process_group("nccl", store=store, rank=rank, world_size=size)
        tensor = torch.ones(1, device="cuda")
        dist.all_reduce(tensor)
        same(tensor, torch.tensor([float(size)]), "a group made again")


def absent_peer(rank: int, size: int) -> None:
    group = dist.new_group(timeout=timedelta(seconds=5))
    dist.all_reduce(torch.ones(1, device="cuda"), group=group)
    if rank > 0:
        with pytest.raises(dist.DistBackendError, match="Timed out"):
            dist.all_reduce(torch.ones(1, device="cuda"), group=group)
    torch.cuda.synchronize()
    tensor = torch.ones(1, device="cuda")
    dist.all_reduce(tensor)
    same(tensor, torch.tensor([float(size)]), "another group than that whose rank was absent")


def run(rank: int, size: int) -> None:
    """Runs every part."""
    parts = groups, in_order, temporary_inputs, shared_devices, wrong_splits, sequence, absent_peer, one_store
    for part in parts:
        part(rank, size)


if __name__ == "__main__":
    ranks.run(4, run)
    print("done")

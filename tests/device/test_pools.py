"""Memory pools: allocations inside a `with` block come from the pool, which keeps the memory."""

import gc
from typing import Any

import pytest
import torch

from tests.platforms import ACCELERATORS

pytestmark = pytest.mark.platforms(*ACCELERATORS)
MIB = 1 << 20


def _bytes_of(pool: Any) -> tuple[int, int]:
    """Returns the bytes that a pool holds, and how many of them tensors occupy."""
    segments = torch.cuda.memory_snapshot(pool.id)
    return sum(each["total_size"] for each in segments), sum(each["allocated_size"] for each in segments)


def test_memory_of_a_block_is_from_the_pool_and_stays_there() -> None:
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        held = torch.ones(MIB, device="cuda")
    other = torch.ones(MIB, device="cuda")
    total, used = _bytes_of(pool)
    assert total >= used >= 4 * MIB
    assert used < 8 * MIB
    del held, other
    torch.cuda.empty_cache()
    assert _bytes_of(pool) == (total, 0)


def test_a_pool_is_used_again() -> None:
    pool = torch.cuda.MemPool()
    addresses = []
    for _ in range(2):
        with torch.cuda.use_mem_pool(pool):
            addresses.append(torch.ones(MIB, device="cuda").data_ptr())
    assert addresses[0] == addresses[1]


# torch_musa never releases a pool that was used
@pytest.mark.platforms("simulated-npu", "simulated-mlu", "simulated-xpu", "npu")
def test_memory_is_given_back_with_the_pool() -> None:
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        torch.ones(MIB, device="cuda")
    reserved = torch.cuda.memory_reserved()
    del pool
    gc.collect()
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() < reserved


def test_memory_of_another_stream_is_not_from_the_pool_of_one() -> None:
    pool, side = torch.cuda.MemPool(), torch.cuda.Stream()
    with torch.cuda.use_mem_pool(pool), torch.cuda.stream(side):
        held = torch.ones(MIB, device="cuda")
    assert held.numel() == MIB
    streams = {segment["stream"] for segment in torch.cuda.memory_snapshot(pool.id)}
    assert torch.cuda.current_stream().cuda_stream not in streams

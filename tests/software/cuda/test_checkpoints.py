"""Memory pools restored from a checkpoint, as torch.compile's CUDA graph trees require of the allocator."""

from collections.abc import Callable, Iterable

import pytest
import torch

Id = tuple[int, int]


def captured(work: Callable[[], object], pool: Id | None = None) -> tuple[torch.cuda.CUDAGraph, object]:
    """Captures a call of a function; returns the graph and the result of the call."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        result = work()
    return graph, result


def filled(count: int = 600) -> torch.Tensor:
    """Makes a small tensor."""
    return torch.ones(count, dtype=torch.uint8, device="cuda")


def layout(pool: Id) -> list[tuple[int, int, str]]:
    """Returns the address, size and state of each block of a pool."""
    segments = [each for each in torch.cuda.memory_snapshot() if each["segment_pool_id"] == pool]
    blocks = (block for segment in segments for block in segment["blocks"])
    return [(block["address"], block["size"], block["state"]) for block in blocks]


def live(pool: Id) -> int:
    """Counts the blocks of a pool that are in use."""
    return sum(state == "active_allocated" for _, _, state in layout(pool))


def state_of(pool: Id) -> object:
    """Returns a checkpoint of a pool's blocks."""
    return torch._C._cuda_getCheckpointState(0, pool)


def put_back(state: object, stale: Iterable[torch.Tensor] = (), owners: Iterable[torch.Tensor] = ()) -> None:
    """Restores a pool from a checkpoint."""
    storages = ([tensor.untyped_storage()._cdata for tensor in tensors] for tensors in (stale, owners))
    torch._C._cuda_setCheckpointPoolState(0, state, *storages)


def tensor_at(address: int, count: int) -> torch.Tensor:
    """Makes a tensor that does not own its memory."""
    device = torch.device("cuda", 0)
    storage = torch._C._construct_storage_from_data_pointer(address, device, count)
    return torch.empty(0, dtype=torch.uint8, device=device).set_(storage, 0, (count,), (1,))


def some_of_many() -> list[torch.Tensor]:
    """Allocates many tensors and keeps a few, from both kinds of segment."""
    small = [filled() for _ in range(11)]
    return [small[2], small[5], filled(3 << 20), filled() + small[8]]


def test_a_pool_is_put_back_as_it_is() -> None:
    graph, tensors = captured(some_of_many)
    before, figures = layout(graph.pool()), torch.cuda.memory_stats()
    put_back(state_of(graph.pool()))
    assert layout(graph.pool()) == before
    for name in ("active.all.current", "allocated_bytes.all.current", "inactive_split_bytes.all.current"):
        assert torch.cuda.memory_stats()[name] == figures[name]
    del tensors
    assert live(graph.pool()) == 0


def test_later_tensors_lose_their_blocks() -> None:
    graph, first = captured(filled)
    state, before = state_of(graph.pool()), layout(graph.pool())
    _, second = captured(filled, graph.pool())
    assert live(graph.pool()) == 2
    with pytest.raises(RuntimeError, match="must be passed to set checkpoint"):
        put_back(state)
    put_back(state, stale=[second])
    del second
    assert layout(graph.pool()) == before
    del first


def test_tensors_without_memory_of_their_own_get_it_back() -> None:
    graph, tensors = captured(lambda: [filled(), filled(), filled(3 << 20)])
    state, addresses = state_of(graph.pool()), [tensor.data_ptr() for tensor in tensors]
    del tensors
    assert live(graph.pool()) == 0
    graph.replay()
    again = [tensor_at(address, 600) for address in addresses]
    put_back(state, owners=again[:2])
    assert live(graph.pool()) == 3
    assert again[0].tolist() == [1] * 600
    del again
    assert live(graph.pool()) == 1
    torch._C._cuda_cudaCachingAllocator_raw_delete(addresses[2])
    assert live(graph.pool()) == 0


def test_a_storage_gives_its_memory_up_and_stays() -> None:
    tensor = filled()
    before = torch.cuda.memory_allocated()
    torch._C._free_And_Remove_DeleterFn(tensor.untyped_storage()._cdata)
    assert torch.cuda.memory_allocated() == before - 1024
    assert not torch._C._has_Standard_Deleter(tensor.untyped_storage()._cdata)
    with pytest.raises(RuntimeError, match="standard deleter"):
        torch._C._free_And_Remove_DeleterFn(tensor.untyped_storage()._cdata)
    del tensor
    assert torch.cuda.memory_allocated() == before - 1024

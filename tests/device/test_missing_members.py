"""A member that a vendor's class lacks raises an error with name and reason, on the class and its objects."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch

from morph.backends import active
from morph.backends.tables.rows import Status
from morph.base.errors import MissingNameError
from tests.platforms import ACCELERATORS

# members that simulated classes inherit from bases whose own methods use them
INHERITED = {
    "torch.cuda.CUDAGraph.register_generator_state",
    "torch.cuda.Event.event_id",
    "torch.cuda.Event.from_ipc_handle",
    "torch.cuda.Event.ipc_handle",
    "torch.cuda.MemPool.allocator",
    "torch.cuda.MemPool.use_count",
}


@pytest.mark.platforms(*ACCELERATORS)
def test_a_missing_member_is_refused_with_the_reason() -> None:
    backend = active()
    assert backend is not None
    missing = [row for row in backend.table.rows.values() if row.status is Status.MISSING]
    rows = [row for row in missing if row.name not in INHERITED]
    members = [(row, owner) for row in rows if (owner := _owner(row.name)) is not None]
    assert members
    for row, owner in members:
        member = row.name.rpartition(".")[2]
        with pytest.raises(MissingNameError) as refused:
            getattr(owner, member)
        assert str(refused.value) == f"{row.name} does not exist on backend {backend.name!r}: {row.note}"
        assert not hasattr(owner, member)
        assert getattr(owner, member, None) is None


@pytest.mark.platforms("simulated-mlu", "simulated-xpu")
def test_a_class_keeps_what_its_own_methods_use() -> None:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    end.record()
    torch.cuda.synchronize()
    assert start.elapsed_time(end) >= 0


@pytest.mark.platforms(*ACCELERATORS)
def test_objects_refuse_it_too_and_can_be_looked_into() -> None:
    graph: Any = torch.cuda.CUDAGraph(keep_graph=True)
    with pytest.raises(MissingNameError, match="cudaGraph_t"):
        graph.raw_cuda_graph()
    assert "raw_cuda_graph" not in dict(inspect.getmembers(graph))


def _owner(name: str) -> type | None:
    """Returns the class that a name is a member of, or None."""
    owner: Any = torch
    for part in name.split(".")[1:-1]:
        owner = getattr(owner, part, None)
    return owner if isinstance(owner, type) else None

"""Members of classes are served by the class's row, also under the class's other names."""

import pytest

from morph.backends.tables import table
from morph.backends.tables.decisions import decide
from morph.backends.tables.members import has_member
from morph.backends.tables.table import Status


@pytest.mark.parametrize(
    ("backend", "name", "status"),
    [
        ("npu", "torch.cuda.Event.cuda_event", Status.RENAMED),
        ("npu", "torch.cuda.streams.Event.cuda_event", Status.RENAMED),
        ("musa", "torch.cuda.graphs.CUDAGraph.instantiate", Status.SAME),
        ("npu", "torch.cuda.graphs.CUDAGraph.instantiate", Status.EMULATED),
        ("musa", "torch.cuda.graphs.CUDAGraph.raw_cuda_graph", Status.MISSING),
        ("xpu", "torch.cuda.memory.MemPool.snapshot", Status.ADAPTED),
    ],
)
def test_a_member_is_served_under_every_name_of_its_class(backend: str, name: str, status: Status) -> None:
    row = decide(table.load(backend), name)
    assert (row.name, row.status) == (name, status)


@pytest.mark.parametrize(
    ("adapter", "member", "has"),
    [
        ("streams:DeviceGuard", "__enter__", True),
        ("streams:DeviceGuard", "__hash__", True),
        ("streams:DeviceGuard", "absent", False),
        ("amp:GradScaler", "get_scale", True),
        ("nvtx:range", "anything", True),
    ],
)
def test_the_members_of_morphs_own_classes(adapter: str, member: str, has: bool) -> None:
    assert has_member(f"morph.aliases.adapters.{adapter}", member) is has

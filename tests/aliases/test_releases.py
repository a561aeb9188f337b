"""The tables fit the recorded surfaces of every release of torch and of the vendors."""

from collections.abc import Mapping

import pytest

from morph.backends.tables import surfaces, table
from morph.backends.tables.table import Row, Status

LINES = [(2, minor) for minor in range(7, 15)]
CUDA = {surfaces.release(each.version): each for each in map(surfaces.load, surfaces.releases("torch_cuda"))}
STREAM = "torch.cuda.ExternalStream.cuda_stream"
GRAPHS = {"torch.cuda.CUDAGraph", "torch.cuda.graphs.CUDAGraph"}
ALLOCATORS = {"torch.cuda.CUDAPluggableAllocator", "torch.cuda.memory.CUDAPluggableAllocator"}
# CUDA names whose counterpart an older release of the vendor lacks; they are skipped there
ABSENT: dict[str, dict[tuple[int, int], set[str]]] = {
    "npu": {(2, 8): {STREAM}, (2, 9): {STREAM}},
    "xpu": {
        (2, 7): GRAPHS | ALLOCATORS,
        (2, 8): GRAPHS | ALLOCATORS,
        (2, 9): GRAPHS | ALLOCATORS,
        (2, 10): GRAPHS,
    },
}


@pytest.mark.parametrize("line", LINES, ids=lambda line: ".".join(map(str, line)))
@pytest.mark.parametrize(("backend", "package"), [("npu", "torch_npu"), ("xpu", "torch_xpu")])
def test_renamed_rows_have_their_counterpart_in_each_release(
    backend: str, package: str, line: tuple[int, int]
) -> None:
    rows = table.load(backend).rows
    recorded_ones = map(surfaces.load, surfaces.releases(package))
    (vendor,) = [each for each in recorded_ones if surfaces.release(each.version) == line]
    renamed = {cuda: row.target for cuda, row in rows.items() if row.status is Status.RENAMED and row.target}
    recorded = {
        cuda: target
        for cuda, target in renamed.items()
        if CUDA[line].has(cuda) and any(target.startswith(f"{module}.") for module in vendor.modules)
    }
    assert recorded
    absent = {cuda for cuda, target in recorded.items() if not vendor.has(target)}
    assert absent == ABSENT[backend].get(line, set())


@pytest.mark.parametrize("name", surfaces.releases("torch_musa"))
def test_rows_of_moore_threads_end_with_the_release_that_has_the_names(name: str) -> None:
    whole, vendor = table.whole("musa"), surfaces.load(name)
    rows = whole.at(surfaces.numbers(vendor.version)).rows
    ended = [_own(cuda, whole.rows) for cuda in whole.until if cuda not in rows]
    assert [own for own in ended if not vendor.has(own)] == []
    begun = [_own(cuda, whole.rows) for cuda in whole.since if cuda in rows]
    assert [own for own in begun if vendor.has(own)] == []
    targets = [row.target for row in rows.values() if row.status in (Status.RENAMED, Status.ADAPTED)]
    recorded = [each for each in targets if any(each.startswith(f"{module}.") for module in vendor.modules)]
    constructors = (".__init__", ".__new__")
    named = [each.removesuffix(end) for each in recorded for end in constructors if each.endswith(end)]
    named += [each for each in recorded if not each.endswith(constructors)]
    assert [each for each in named if not vendor.has(each)] == []


def _own(cuda: str, rows: Mapping[str, Row]) -> str:
    """Returns the vendor's name for a CUDA name, for a constructor that of its class."""
    owner, _, last = cuda.rpartition(".")
    renamed = rows[owner].target if owner in rows else ""
    own = f"{renamed or owner.replace('torch.cuda', 'torch.musa')}.{last}"
    return own.removesuffix(".__new__").removesuffix(".__init__")


def test_a_row_ends_and_begins_with_a_post_release() -> None:
    whole = table.whole("musa")
    post1, post2 = (whole.at(surfaces.numbers(f"2.11.0.post{n}+musa5.2.0")).rows for n in (1, 2))
    assert {"torch.cuda.set_sync_debug_mode", "torch.cuda.MemPool.__init__"} <= post1.keys() - post2.keys()
    assert post2.keys() - post1.keys() == whole.since.keys()
    assert "torch.cuda.host_memory_stats" in whole.at(surfaces.numbers("2.9.1")).rows
    assert "torch.cuda.host_memory_stats" not in post1

"""Memory is counted per device as by torch's caching allocators, and can run out."""

from __future__ import annotations

import pytest
import torch

from tests import platforms
from tests.software import own
from tests.worker import Worker

pytestmark = pytest.mark.usefixtures("vendor_worker")
MIB = 1 << 20


@pytest.fixture(scope="module", autouse=True)
def nothing_is_held(vendor_worker: Worker) -> None:
    """Restarts the worker, so that no other test has allocated memory in it."""
    vendor_worker.stop()


def _fresh() -> tuple[int, int]:
    own.module().empty_cache()
    own.module().reset_peak_memory_stats()
    return own.module().memory_allocated(), own.module().memory_reserved()


@pytest.mark.parametrize(
    ("elements", "allocated", "reserved"),
    [
        (10, 512, 2 * MIB),  # small blocks share segments of 2 MiB
        (1000, 4096, 2 * MIB),
        (1_000_000, 4_000_256, 20 * MIB),  # larger ones share segments of 20 MiB
        (10_000_100, 40_000_512, 40 * MIB),  # and the largest have a segment of their own
    ],
)
def test_blocks_and_segments_have_the_allocators_sizes(elements: int, allocated: int, reserved: int) -> None:
    used, held = _fresh()
    assert held == 0
    tensor = torch.empty(elements, device=own.device())
    assert own.module().memory_allocated() - used == allocated
    assert own.module().memory_reserved() == reserved
    del tensor
    assert own.module().memory_allocated() == used
    assert own.module().memory_reserved() == reserved
    own.module().empty_cache()
    assert own.module().memory_reserved() == 0


def test_peaks_and_totals() -> None:
    used, _ = _fresh()
    before = own.module().memory_stats()
    for _ in range(3):
        torch.empty(MIB + 1, device=own.device())
    assert own.module().max_memory_allocated() - used == 4 * MIB + 512
    after = own.module().memory_stats()
    for which in ("allocated", "freed"):
        key = f"allocated_bytes.all.{which}"
        assert after[key] - before[key] == 3 * (4 * MIB + 512)
    own.module().reset_peak_memory_stats()
    assert own.module().max_memory_allocated() == own.module().memory_allocated()


def test_devices_are_counted_apart() -> None:
    before = [own.module().memory_allocated(index) for index in (0, 1)]
    tensor = torch.empty(MIB + 1, device=own.device(1))
    assert own.module().memory_allocated(0) == before[0]
    assert own.module().memory_allocated(own.device(1)) - before[1] == 4 * MIB + 512
    assert tensor.untyped_storage().device.index == 1


def test_free_and_total_memory() -> None:
    _fresh()
    free, total = own.module().mem_get_info()
    assert total == own.module().get_device_properties(0).total_memory == 64 << 30
    tensor = torch.empty(100 * MIB, dtype=torch.uint8, device=own.device())
    assert 90 * MIB < free - own.module().mem_get_info()[0] < 130 * MIB
    assert tensor.numel() == 100 * MIB


def test_memory_runs_out() -> None:
    with pytest.raises(torch.OutOfMemoryError, match="[NX]PU out of memory. Tried to allocate 4096.00 GiB"):
        torch.empty(1 << 42, dtype=torch.uint8, device=own.device())
    assert torch.ones(2, device=own.device()).sum().item() == 2


def test_a_fraction_of_the_memory_is_a_limit() -> None:
    _fresh()
    own.module().set_per_process_memory_fraction(0.001)
    try:
        with pytest.raises(torch.OutOfMemoryError):
            torch.empty(1 << 30, dtype=torch.uint8, device=own.device())
    finally:
        own.module().set_per_process_memory_fraction(1.0)
    assert torch.empty(1 << 20, dtype=torch.uint8, device=own.device()).numel() == MIB


def test_memory_is_used_again() -> None:
    _fresh()
    first = torch.empty(3 * MIB, device=own.device())
    address = first.data_ptr()
    del first
    assert torch.empty(3 * MIB, device=own.device()).data_ptr() == address


@own.as_an_npu
def test_reports_for_people() -> None:
    summary = own.module().memory_summary(abbreviated=True)
    assert "PyTorch NPU memory summary, device ID 0" in summary


@pytest.mark.parametrize("machine", platforms.chosen(["simulated-npu"]), indirect=True)
@pytest.mark.parametrize("held", [3000, 50_000, 40 * MIB])
def test_figures_for_people_are_the_allocated_bytes(held: int) -> None:
    tensor = torch.empty(held, dtype=torch.uint8, device=own.device())
    [row] = [line for line in own.module().memory_summary().splitlines() if "Allocated memory" in line]
    figure, unit = row.split("|")[2].split()
    told = int(figure) * {"B": 1, "KiB": 1 << 10, "MiB": MIB}[unit]
    assert tensor.nbytes <= own.module().memory_allocated() == pytest.approx(told, rel=0.1)


def test_reports_for_tools() -> None:
    tensor = torch.empty(1000, device=own.device())
    segments = [each for each in own.module().memory_snapshot() if each["device"] == 0]
    blocks = [block for each in segments for block in each["blocks"]]
    assert any(
        block["address"] == tensor.data_ptr() and block["state"] == "active_allocated" for block in blocks
    )
    assert sum(each["allocated_size"] for each in segments) == own.module().memory_allocated()


def test_accelerator_figures_are_the_same() -> None:
    assert torch.accelerator.memory_allocated() == own.module().memory_allocated()
    assert torch.accelerator.memory_reserved() == own.module().memory_reserved()
    assert torch.accelerator.max_memory_allocated() == own.module().max_memory_allocated()


@own.as_an_npu
def test_pinned_memory_is_counted() -> None:
    before = own.module().host_memory_stats()["allocated_bytes.current"]
    pinned = torch.arange(MIB).pin_memory()
    assert own.module().host_memory_stats()["allocated_bytes.current"] - before >= pinned.nbytes


def test_pinned_memory_knows_itself() -> None:
    pinned = torch.rand(MIB).pin_memory()
    assert pinned.is_pinned()
    assert pinned[5:].is_pinned()
    assert not torch.empty(3).is_pinned()
    assert torch.equal(pinned.to(own.device(), non_blocking=True).cpu(), pinned)


def test_storages_grow_and_shrink() -> None:
    tensor = torch.arange(4.0, device=own.device())
    tensor.untyped_storage().resize_(32)
    tensor.set_(tensor.untyped_storage(), 0, (2, 4))
    assert tensor[0].tolist() == [0, 1, 2, 3]
    tensor.untyped_storage().resize_(0)
    assert tensor.untyped_storage().nbytes() == 0

"""Sleeping streams: what CUDA programs see of a device with work still pending."""

from __future__ import annotations

import contextlib
import dataclasses
import operator
import time
import warnings
from collections.abc import Callable

import pytest
import torch

MILLISECOND = 1_000_000  # cycles
LONG = 500 * MILLISECOND  # longer than a few calls take on a busy machine


def test_an_event_after_a_sleep_happens_later() -> None:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    torch.cuda._sleep(LONG)
    end.record()
    assert not end.query()
    assert not torch.cuda.current_stream().query()
    with pytest.raises(torch.AcceleratorError, match="CUDA error: device not ready"):
        start.elapsed_time(end)
    end.synchronize()
    assert end.query()
    assert 500 <= start.elapsed_time(end) < 10_000


def test_a_stream_waits_for_another() -> None:
    first, second, third = (torch.cuda.Stream() for _ in range(3))
    with torch.cuda.stream(first):
        torch.cuda._sleep(LONG)
    second.wait_stream(first)
    assert not second.query()
    assert third.query()
    torch.cuda.synchronize()
    assert second.query()


@pytest.mark.parametrize("wait", ["item", "cpu", "synchronize", "copy"])
def test_who_needs_a_result_waits(wait: str) -> None:
    value, host = torch.ones((), device="cuda"), torch.zeros(())
    begin = time.monotonic()
    torch.cuda._sleep(20 * MILLISECOND)
    actions = {
        "item": value.item,
        "cpu": value.cpu,
        "synchronize": torch.cuda.current_stream().synchronize,
        "copy": lambda: host.copy_(value),
    }
    actions[wait]()
    assert time.monotonic() - begin >= 0.02


def test_memory_on_a_stream_that_sleeps_is_not_given_out_again() -> None:
    torch.cuda.empty_cache()
    size = 3 << 20  # 12 MiB, which the allocator puts in a segment of its own
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        tensor = torch.ones(size, device="cuda")
    address = tensor.data_ptr()
    tensor.record_stream(torch.cuda.current_stream())
    torch.cuda._sleep(LONG)
    del tensor
    with torch.cuda.stream(side):
        other = torch.ones(size, device="cuda")
        assert other.data_ptr() != address
        torch.cuda.synchronize()
        assert torch.ones(size, device="cuda").data_ptr() == address


def test_pinned_memory_is_given_out_again_when_no_copy_reads_it() -> None:
    tensor = torch.zeros(7).pin_memory()
    address = tensor.data_ptr()
    del tensor
    tensor = torch.zeros(7).pin_memory()
    assert tensor.data_ptr() == address
    torch.cuda._sleep(LONG)
    target = torch.zeros(7, device="cuda").copy_(tensor, non_blocking=True)
    del tensor
    assert torch.zeros(7).pin_memory().data_ptr() != address
    assert target.tolist() == [0] * 7


def test_waits_are_warned_of_and_refused() -> None:
    value = torch.ones(3, device="cuda")
    try:
        with pytest.warns(UserWarning, match="prototype feature"):
            torch.cuda.set_sync_debug_mode("error")
        assert torch.cuda.get_sync_debug_mode() == 2
        with pytest.raises(RuntimeError, match="called a synchronizing CUDA operation"):
            value.cpu()
        value + 1
    finally:
        with pytest.warns(UserWarning, match="prototype feature"):
            torch.cuda.set_sync_debug_mode(0)


@dataclasses.dataclass
class Given:
    x: torch.Tensor
    mask: torch.Tensor
    index: torch.Tensor
    host_index: torch.Tensor


WAITING: dict[str, Callable[[Given], object]] = {
    "nonzero": lambda given: given.x.nonzero(),
    "unique": lambda given: given.x.unique(),
    "equal": lambda given: torch.equal(given.x, given.x + 1),
    "read by a mask": lambda given: given.x[given.mask],
    "read by an index on the host": lambda given: given.x[given.host_index],
    "write a tensor by a mask": lambda given: given.x.index_put_((given.mask,), given.x.sum()),
    "repeat": lambda given: given.x.repeat_interleave(given.index),
}
NOT_WAITING: dict[str, Callable[[Given], object]] = {
    "read by an index": lambda given: given.x[given.index],
    "write a number by a mask": lambda given: operator.setitem(given.x, given.mask, 4.0),
    "write a tensor by an index": lambda given: operator.setitem(given.x, given.index, given.x.sum()),
    "repeat to a size": lambda given: given.x.repeat_interleave(given.index, output_size=4),
}


@pytest.mark.parametrize("which", WAITING | NOT_WAITING)
def test_operators_wait_where_cudas_do(which: str) -> None:
    index = torch.tensor([0, 2, 2])
    given = Given(torch.ones(3, device="cuda"), index.cuda() > 0, index.cuda(), index)
    waits = pytest.raises(RuntimeError, match="called a synchronizing CUDA operation")
    with warnings.catch_warnings(), waits if which in WAITING else contextlib.nullcontext():
        warnings.simplefilter("ignore")
        torch.cuda.set_sync_debug_mode("error")
        try:
            (WAITING | NOT_WAITING)[which](given)
        finally:
            torch.cuda.set_sync_debug_mode(0)


def test_streams_are_given_out_again_after_thirty_two() -> None:
    ids = [torch.cuda.Stream().stream_id for _ in range(33)]
    assert len(set(ids)) == 32
    assert ids[0] == ids[-1]
    low, high = torch.cuda.Stream.priority_range()
    assert torch.cuda.Stream(priority=high - 5).priority == high
    assert torch.cuda.Stream(priority=low).priority == low
    with pytest.raises(RuntimeError, match="priority to be less than or equal to 0, got 1"):
        torch.cuda.Stream(priority=1)


def test_an_event_goes_to_another_process_by_its_handle() -> None:
    event = torch.cuda.Event(interprocess=True)
    event.record()
    other = torch.cuda.Event.from_ipc_handle(torch.device("cuda:0"), event.ipc_handle())
    other.synchronize()
    assert other.query()
    with pytest.raises(torch.AcceleratorError, match="invalid argument"):
        torch.cuda.Event().ipc_handle()


def test_events_are_of_the_device_that_records_them() -> None:
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    assert [event.device for event in events] == [None, None]
    for index, event in enumerate(events):
        event.record(torch.cuda.Stream(index))
        assert event.device == torch.device("cuda", index)
    with pytest.raises(torch.AcceleratorError, match="invalid resource handle"):
        events[0].elapsed_time(events[1])

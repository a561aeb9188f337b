"""Sleeping streams: what CUDA programs see of a device with work still pending."""

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
    with pytest.raises(RuntimeError, match="Both events must be completed before calculating elapsed time"):
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
    assert torch.cuda.Stream(priority=5).priority == low
    assert torch.cuda.Stream(stream_id=0).stream_id != 0
    for wrong in ("x", 1.5):
        with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
            torch.cuda.Stream(priority=wrong)


REFUSED_EVENTS: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "handle of a plain event": (
        lambda: torch.cuda.Event().ipc_handle(),
        torch.AcceleratorError,
        "CUDA error: invalid resource handle\nSearch for `cudaErrorInvalidResourceHandle'",
    ),
    "one's own handle": (
        lambda: opened(torch.cuda.Event(interprocess=True).ipc_handle()),
        torch.AcceleratorError,
        "CUDA error: invalid device context",
    ),
    "no handle": (
        lambda: opened(b"x" * 64),
        torch.AcceleratorError,
        "CUDA error: mapping of buffer object failed",
    ),
    "short handle": (
        lambda: opened(b"x"),
        RuntimeError,
        "^cudaIpcEventHandle_t expects byte-like object of size 64, but got 1$",
    ),
    "handle for the host": (
        lambda: opened(b"x" * 64, "cpu"),
        RuntimeError,
        "^Event can only be created on CUDA devices, but got device type cpu$",
    ),
    "time for several processes": (
        lambda: torch.cuda.Event(interprocess=True, enable_timing=True).record(),
        torch.AcceleratorError,
        "CUDA error: invalid argument",
    ),
    "no number": (
        lambda: torch.cuda.Event(enable_timing="x"),
        TypeError,
        "cannot be interpreted as an integer",
    ),
    "no event": (
        lambda: torch.cuda.Event(enable_timing=True).elapsed_time(3),
        RuntimeError,
        "^expected other to be a torch.cuda.Event object$",
    ),
    "recorded by no stream": (
        lambda: torch.cuda.Event().record(3),
        RuntimeError,
        "^expected stream to be a torch.Stream or torch.cuda.Stream object$",
    ),
    "recorded by the host": (
        lambda: torch.cuda.Event().record(torch.Stream(device="cpu")),
        RuntimeError,
        r"^Expected stream_.device_type\(\) == DeviceType::CUDA to be true, but got false",
    ),
    "waited for by no stream": (
        lambda: torch.cuda.Event().wait("x"),
        RuntimeError,
        "^expected stream to be a torch.Stream or torch.cuda.Stream object$",
    ),
}


def opened(handle: bytes, device: str = "cuda:0") -> torch.cuda.Event:
    return torch.cuda.Event.from_ipc_handle(torch.device(device), handle)


@pytest.mark.parametrize("what", REFUSED_EVENTS)
def test_events_are_refused(what: str) -> None:
    action, error, words = REFUSED_EVENTS[what]
    with pytest.raises(error, match=words):
        action()


def test_an_event_is_made_when_it_is_recorded() -> None:
    assert torch.cuda.Event(interprocess=True, enable_timing=True).query()
    event = torch.cuda.Event(enable_timing=1)
    event.record()
    event.synchronize()
    assert event.elapsed_time(event) == 0


def test_a_sleep_is_of_whole_cycles() -> None:
    for wrong in (1.5, "x"):
        with pytest.raises(RuntimeError, match=r"^torch\.cuda\._sleep\(\): expected 'int'"):
            torch.cuda._sleep(wrong)


def test_events_are_of_the_device_that_records_them() -> None:
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    assert [event.device for event in events] == [None, None]
    for index, event in enumerate(events):
        event.record(torch.cuda.Stream(index))
        assert event.device == torch.device("cuda", index)
    with pytest.raises(torch.AcceleratorError, match="invalid resource handle"):
        events[0].elapsed_time(events[1])

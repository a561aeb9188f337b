"""Streams and events: distinguished, selected per thread, and timed."""

from __future__ import annotations

import time

import pytest
import torch

pytestmark = pytest.mark.platforms("cpu")


def test_streams_are_torchs() -> None:
    assert issubclass(torch.cuda.Stream, torch.Stream)
    assert issubclass(torch.cuda.Event, torch.Event)
    assert torch.cuda.Stream().device == torch.ones(1, device="cuda").device


def test_streams_nest_and_come_back_after_an_error() -> None:
    outer, inner = torch.cuda.Stream(), torch.cuda.Stream()
    with outer:
        with pytest.raises(ZeroDivisionError), torch.cuda.stream(inner):
            raise ZeroDivisionError
        assert torch.cuda.current_stream() == outer
        with torch.cuda.stream(None):
            assert torch.cuda.current_stream() == outer
    assert torch.cuda.current_stream() == torch.cuda.default_stream()


def test_a_tensor_is_recorded_on_a_stream() -> None:
    tensor = torch.ones(3, device="cuda")
    assert tensor.record_stream(torch.cuda.Stream()) is None
    assert tensor.tolist() == [1, 1, 1]


def test_events_measure_milliseconds() -> None:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    time.sleep(0.02)
    end.record(torch.cuda.current_stream())
    end.synchronize()
    assert 20 <= start.elapsed_time(end) < 2000
    assert end.elapsed_time(start) == -start.elapsed_time(end)


def test_events_without_times_are_refused_as_cuda_refuses_them() -> None:
    timed, plain = torch.cuda.Event(enable_timing=True), torch.cuda.Event()
    timed.record()
    plain.record()
    with pytest.raises(ValueError, match="enable_timing=True"):
        timed.elapsed_time(plain)
    with pytest.raises(ValueError, match="must be recorded"):
        timed.elapsed_time(torch.cuda.Event(enable_timing=True))


def test_streams_record_and_wait_for_events() -> None:
    stream = torch.cuda.Stream()
    event = stream.record_event()
    torch.cuda.current_stream().wait_event(event)
    torch.cuda.current_stream().wait_stream(stream)
    assert event.query()
    assert stream.query()
    assert repr(torch.cuda.Event()) == "<torch.cuda.Event uninitialized>"

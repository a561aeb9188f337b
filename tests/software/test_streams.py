"""The current stream is per thread and device, and events measure real time."""

from __future__ import annotations

import threading
import time

import pytest
import torch

from tests.software import own

pytestmark = pytest.mark.usefixtures("vendor_worker")


def test_streams_are_torchs_and_told_apart() -> None:
    one, other = own.module().Stream(), own.module().Stream(device=own.device(1))
    assert isinstance(one, torch.Stream)
    assert one != other
    assert (one.device.index, other.device.index) == (0, 1)
    again = own.module().Stream(stream_id=one.stream_id, device_index=0, device_type=one.device_type)
    assert len({one, other, again}) == 2
    assert one.query()
    assert isinstance(own.module().current_stream(), own.module().Stream)


def test_current_stream_is_chosen_for_a_block() -> None:
    defaults, stream = [own.module().current_stream(i) for i in (0, 1)], own.module().Stream(device=1)
    with own.module().stream(stream):
        assert own.module().current_stream(1) == stream
        assert own.module().current_stream(0) == defaults[0]
        with own.module().stream(None):
            assert own.module().current_stream(1) == stream
    assert own.module().current_stream(1) == defaults[1]
    assert own.module().current_device() == 0


def test_current_stream_is_the_threads_own() -> None:
    seen: list[object] = []
    with own.module().stream(own.module().Stream()):
        thread = threading.Thread(target=lambda: seen.append(own.module().current_stream()))
        thread.start()
        thread.join()
        assert seen[0] != own.module().current_stream()
    assert seen[0] == own.module().current_stream()


@own.as_an_npu
def test_the_default_stream_is_the_current_one_at_first() -> None:
    default = own.module().current_stream()
    with own.module().stream(own.module().Stream()):
        assert own.module().default_stream() == default
    torch.empty(1, device=own.device(1))  # torch_npu has no default stream for a device that was never used
    assert isinstance(own.module().default_stream(1), own.module().Stream)


def test_events_measure_time() -> None:
    start, end = (own.module().Event(enable_timing=True) for _ in range(2))
    with pytest.raises(RuntimeError, match="Both events must be recorded"):
        start.elapsed_time(end)
    start.record()
    time.sleep(0.02)
    end.record()
    end.synchronize()
    assert end.query()
    assert 19 < start.elapsed_time(end) < 2000


def test_streams_wait_for_each_other() -> None:
    one, other = own.module().Stream(), own.module().Stream()
    with own.module().stream(one):
        tensor = torch.ones(3, device=own.device()) * 2
        done = one.record_event()
    other.wait_event(done)
    other.wait_stream(one)
    tensor.record_stream(other)
    with own.module().stream(other):
        assert tensor.sum().item() == 6
    assert isinstance(done, torch.Event)
    other.synchronize()
    own.module().synchronize()


@own.as_an_npu
def test_priorities_cannot_be_asked_for() -> None:
    with pytest.raises(RuntimeError, match="priority"):
        own.module().Stream(priority=-1).priority  # noqa: B018


def test_accelerator_api_knows_the_device() -> None:
    assert torch.accelerator.current_accelerator() == torch.device(own.device())
    assert torch.accelerator.device_count() == own.module().device_count() == 2
    stream = own.module().Stream()
    with own.module().stream(stream):
        assert torch.accelerator.current_stream().stream_id == stream.stream_id
    torch.accelerator.set_device_index(1)
    assert torch.empty(1, device=own.device()).device.index == own.module().current_device() == 1
    torch.accelerator.set_device_index(0)


def test_devices_that_do_not_exist_are_refused() -> None:
    for use in (lambda: torch.empty(1, device=own.device(7)), lambda: own.module().set_device(7)):
        with pytest.raises(RuntimeError, match="[Ii]nvalid device ID|out of range"):
            use()
    with pytest.raises(ValueError, match=f"Expected a {own.device()} device, but got: cpu"):
        own.module().set_device("cpu")


def test_device_is_current_for_a_block() -> None:
    with own.module().device(1):
        assert own.module().current_device() == 1
        tensor = torch.empty(1, device=own.device())
    with own.module().device_of(tensor):
        assert own.module().current_device() == 1
    assert own.module().current_device() == 0

"""Streams are chosen per thread and device, and events hold real times."""

from __future__ import annotations

import threading
import time

import pytest
import torch

pytestmark = pytest.mark.usefixtures("vendor_worker")


def test_streams_are_torchs_and_told_apart() -> None:
    one, other = torch.npu.Stream(), torch.npu.Stream(device="npu:1")
    assert isinstance(one, torch.Stream)
    assert one != other
    assert (one.device.index, other.device.index) == (0, 1)
    assert (
        len(
            {
                one,
                other,
                torch.npu.Stream(stream_id=one.stream_id, device_index=0, device_type=one.device_type),
            }
        )
        == 2
    )
    assert one.query()
    assert all(
        isinstance(each, torch.npu.Stream)
        for each in (torch.npu.current_stream(), torch.npu.default_stream())
    )


def test_current_stream_is_chosen_for_a_block() -> None:
    default, stream = torch.npu.default_stream(), torch.npu.Stream(device=1)
    with torch.npu.stream(stream):
        assert torch.npu.current_stream(1) == stream
        assert torch.npu.current_stream(0) == default
        with torch.npu.stream(None):
            assert torch.npu.current_stream(1) == stream
    assert torch.npu.current_stream(1) == torch.npu.default_stream(1)
    assert torch.npu.current_device() == 0


def test_current_stream_is_the_threads_own() -> None:
    seen: list[object] = []
    with torch.npu.stream(torch.npu.Stream()):
        thread = threading.Thread(target=lambda: seen.append(torch.npu.current_stream()))
        thread.start()
        thread.join()
        assert seen[0] != torch.npu.current_stream()
    assert seen[0] == torch.npu.default_stream()


def test_events_measure_time() -> None:
    start, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    with pytest.raises(RuntimeError, match="Both events must be recorded"):
        start.elapsed_time(end)
    start.record()
    time.sleep(0.02)
    end.record()
    end.synchronize()
    assert end.query()
    assert 19 < start.elapsed_time(end) < 2000


def test_streams_wait_for_each_other() -> None:
    one, other = torch.npu.Stream(), torch.npu.Stream()
    with torch.npu.stream(one):
        tensor = torch.ones(3, device="npu") * 2
        done = one.record_event()
    other.wait_event(done)
    other.wait_stream(one)
    tensor.record_stream(other)
    with torch.npu.stream(other):
        assert tensor.sum().item() == 6
    assert isinstance(done, torch.Event)
    other.synchronize()
    torch.npu.synchronize()


def test_priorities_cannot_be_asked_for() -> None:
    with pytest.raises(RuntimeError, match="priority"):
        torch.npu.Stream(priority=-1).priority  # noqa: B018


def test_accelerator_api_knows_the_device() -> None:
    assert torch.accelerator.current_accelerator() == torch.device("npu")
    assert torch.accelerator.device_count() == torch.npu.device_count() == 2
    stream = torch.npu.Stream()
    with torch.npu.stream(stream):
        assert torch.accelerator.current_stream().stream_id == stream.stream_id
    torch.accelerator.set_device_index(1)
    assert torch.empty(1, device="npu").device.index == torch.npu.current_device() == 1
    torch.accelerator.set_device_index(0)


def test_devices_that_do_not_exist_are_refused() -> None:
    for use in (lambda: torch.empty(1, device="npu:7"), lambda: torch.npu.set_device(7)):
        with pytest.raises(RuntimeError, match="[Ii]nvalid device ID"):
            use()
    with pytest.raises(ValueError, match="Expected a npu device, but got: cpu"):
        torch.npu.set_device("cpu")


def test_device_is_current_for_a_block() -> None:
    with torch.npu.device(1):
        assert torch.npu.current_device() == 1
        tensor = torch.empty(1, device="npu")
    with torch.npu.device_of(tensor):
        assert torch.npu.current_device() == 1
    assert torch.npu.current_device() == 0

"""Streams and events: told apart, current for a thread and a device, waited for, and timed."""

import threading
import time

import pytest
import torch

from tests.platforms import SIMULATED


def test_streams_are_torchs_and_told_apart() -> None:
    one, other = torch.cuda.Stream(), torch.cuda.Stream(device="cuda:1")
    assert isinstance(one, torch.Stream)
    assert isinstance(torch.cuda.current_stream(), torch.cuda.Stream)
    assert one != other
    assert (one.device, other.device) == (torch.device("cuda:0"), torch.device("cuda:1"))
    again = torch.cuda.Stream(stream_id=one.stream_id, device_index=0, device_type=one.device_type)
    assert len({one, other, again}) == 2
    assert one.query()


def test_the_current_stream_is_chosen_for_a_block() -> None:
    defaults, stream = [torch.cuda.current_stream(i) for i in (0, 1)], torch.cuda.Stream(device=1)
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream(1) == stream
        assert torch.cuda.current_stream(0) == defaults[0]
        with torch.cuda.stream(None):
            assert torch.cuda.current_stream(1) == stream
    assert torch.cuda.current_stream(1) == defaults[1]
    assert torch.cuda.current_device() == 0


def test_blocks_nest_and_end_with_an_error() -> None:
    outer, inner = torch.cuda.Stream(), torch.cuda.Stream()
    default = torch.cuda.current_stream()
    with outer:
        with pytest.raises(ZeroDivisionError), torch.cuda.stream(inner):
            raise ZeroDivisionError
        assert torch.cuda.current_stream() == outer
    assert torch.cuda.current_stream() == default


@pytest.mark.platforms(
    "cpu", "npu", "simulated-npu"
)  # torch.xpu has none; torch_mlu and torch_musa number them
def test_the_default_stream_is_the_current_one_at_first() -> None:
    default = torch.cuda.current_stream()
    with torch.cuda.stream(torch.cuda.Stream()):
        assert torch.cuda.default_stream() == default
    torch.empty(1, device="cuda:1")  # torch_npu has no default stream for a device that was never used
    assert isinstance(torch.cuda.default_stream(1), torch.cuda.Stream)


def test_events_measure_milliseconds() -> None:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with pytest.raises((RuntimeError, ValueError), match="must be recorded"):
        start.elapsed_time(end)
    start.record()
    time.sleep(0.02)
    end.record(torch.cuda.current_stream())
    end.synchronize()
    assert end.query()
    assert 19 < start.elapsed_time(end) < 2000
    assert isinstance(end, torch.Event)


@pytest.mark.platforms("cpu")
def test_events_are_refused_as_cuda_refuses_them() -> None:
    timed, plain = torch.cuda.Event(enable_timing=True), torch.cuda.Event()
    timed.record()
    plain.record()
    with pytest.raises(ValueError, match="enable_timing=True"):
        timed.elapsed_time(plain)
    assert timed.elapsed_time(timed) == 0
    assert repr(torch.cuda.Event()) == "<torch.cuda.Event uninitialized>"


def test_torchs_own_streams_and_events_are_the_devices() -> None:
    before, stream = torch.accelerator.current_stream(), torch.Stream(device="cuda")
    start, end = (torch.Event("cuda", enable_timing=True) for _ in range(2))
    with stream:
        assert torch.accelerator.current_stream() == stream
        start.record(stream)
        made = torch.ones(2, device="cuda") + 1
    assert torch.accelerator.current_stream() == before
    made.record_stream(stream)
    stream.wait_event(start)
    end.record(stream)
    end.synchronize()
    assert start.elapsed_time(end) >= 0
    assert made.sum().item() == 4


def test_the_accelerator_is_the_device() -> None:
    assert torch.accelerator.is_available()
    assert torch.accelerator.current_accelerator() == torch.device("cuda")
    assert torch.accelerator.device_count() == torch.cuda.device_count() == 2
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        assert torch.accelerator.current_stream().stream_id == stream.stream_id
    torch.accelerator.set_device_index(1)
    try:
        assert torch.empty(1, device="cuda").get_device() == torch.cuda.current_device() == 1
    finally:
        torch.accelerator.set_device_index(0)
    torch.accelerator.synchronize()


# torch_npu runs it in a thread of the device's
@pytest.mark.platforms("cpu", *SIMULATED)
def test_a_backward_pass_runs_in_the_thread_that_asks_for_it() -> None:
    leaf, threads = torch.ones(2, device="cuda", requires_grad=True), []
    leaf.register_hook(lambda gradient: threads.append(threading.current_thread()))
    (leaf * 2).sum().backward()
    assert threads == [threading.current_thread()]


def test_threads_train_at_once() -> None:
    gradients = []

    def train() -> None:
        for _ in range(50):
            leaf = torch.ones(2, device="cuda", requires_grad=True)
            (leaf.to("cuda") * 2).sum().backward()
            gradients.append(leaf.grad)

    threads = [threading.Thread(target=train) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(gradient is not None and gradient.is_cuda for gradient in gradients)
    assert len(gradients) == 200

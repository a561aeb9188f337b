"""Scripts that name torch.cuda's streams, events and devices; PyTorch's own: its test/jit/test_cuda.py."""

import pathlib
import subprocess
import sys
import warnings
from typing import Any

import pytest
import torch

from tests.platforms import describe


class OnAStream(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        stream = torch.cuda.Stream(torch.device("cuda:1"))
        with torch.cuda.stream(stream):
            inside = (
                torch.cuda.current_device(),
                torch.cuda.current_stream(stream.device).id() == stream.id(),
            )
            y = x.to("cuda:1") * 2
        outside = (torch.cuda.current_device(), torch.cuda.current_stream(stream.device).id())
        torch.cuda.current_stream(1).wait_stream(stream)
        return inside, outside, y


def script(program: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch.jit is deprecated
        return torch.jit.script(program)


def _events():
    torch.cuda.synchronize()
    stream = torch.cuda.Stream(priority=-1)
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record(stream)
    stream.record_event(end)
    end.wait(torch.cuda.default_stream(0))
    end.synchronize()
    return end.query(), start.elapsed_time(end) >= 0.0, torch.cuda.device_count()


def _devices():
    before = torch.cuda.current_device()
    torch.cuda.set_device(1)
    stream = torch.cuda.Stream()
    torch.cuda.set_device(before)
    torch.cuda.set_stream(stream)  # on its device
    after = torch.cuda.current_device(), torch.cuda.current_stream(1).id() == stream.id()
    torch.cuda.set_stream(torch.cuda.default_stream(0))
    return before, after


def _beyond():
    return torch.cuda.current_stream(7).id()


def test_a_stream_is_current_within_its_block() -> None:
    inside, outside, y = script(OnAStream())(torch.ones(2))
    assert (inside, outside) == ((1, True), (0, 0))
    assert y.device == torch.device("cuda:1")
    torch.testing.assert_close(y.cpu(), torch.full((2,), 2.0))


def test_events_are_recorded_and_waited_for() -> None:
    assert script(_events)() == (True, True, 2)


def test_a_stream_sets_its_device() -> None:
    try:
        assert script(_devices)() == (0, (1, True))
    finally:
        torch.cuda.set_stream(torch.cuda.default_stream(1))
        torch.cuda.set_device(0)


def test_a_device_that_is_not_there_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        script(_beyond)()


@pytest.mark.parametrize("source", ["'{path}'", "open('{path}', 'rb')"])
def test_another_process_loads_the_script(tmp_path: pathlib.Path, source: str) -> None:
    path = tmp_path / "model.pt"
    script(OnAStream()).save(str(path))
    program = f"import torch\nprint(torch.jit.load({source.format(path=path)})(torch.ones(1))[2])"
    command = [sys.executable, "-m", "morph", "--backend", "cpu", "--devices", "2", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout == "tensor([2.], device='cuda:1')\n", describe(done)

"""torch.cuda._gpu_trace tells of memory, streams and events, and torch's own CUDA sanitizer hears of them."""

import os
import subprocess
import sys

import pytest

from tests.platforms import describe

TOLD = """
import torch
import torch.cuda._gpu_trace as trace
torch._C._activate_gpu_trace()
for name in ("event_creation", "event_record", "event_wait", "event_synchronization", "event_deletion",
             "stream_creation", "stream_synchronization", "device_synchronization", "memory_allocation",
             "memory_deallocation"):
    getattr(trace, f"register_callback_for_{name}")(lambda *told, name=name: print(name, *told))
stream, event = torch.cuda.Stream(), torch.cuda.Event()
print("stream", stream.cuda_stream)
x = torch.empty(4, device="cuda")
print("memory", x.data_ptr())
event.record(stream)
print("event", event.cuda_event)
event.wait()
event.synchronize()
stream.synchronize()
torch.cuda.synchronize()
del x, event
"""
RACE = """
import torch
x = torch.rand(4, 2, device="cuda")
stream = torch.cuda.Stream()
if {waits}:
    stream.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(stream):
    torch.mul(x, 5, out=x)
print("no race")
"""


def run(program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "morph", "--backend", "cpu", "-c", program]
    return subprocess.run(
        command, env={**os.environ, **variables}, capture_output=True, text=True, check=False, timeout=120
    )


def test_callbacks_are_called() -> None:
    done = run(TOLD)
    assert done.returncode == 0, describe(done)
    lines = done.stdout.splitlines()
    place = {
        line.split()[0]: line.split()[1]
        for line in lines
        if line.startswith(("stream ", "memory ", "event "))
    }
    for expected in (
        f"stream_creation {place['stream']}",
        f"memory_allocation {place['memory']}",
        f"event_creation {place['event']}",
        f"event_record {place['event']} {place['stream']}",
        f"event_wait {place['event']} 0",
        f"event_synchronization {place['event']}",
        f"stream_synchronization {place['stream']}",
        "device_synchronization",
        f"memory_deallocation {place['memory']}",
        f"event_deletion {place['event']}",
    ):
        assert lines.count(expected) == 1, (expected, lines)


@pytest.mark.parametrize("waits", [True, False])
def test_the_sanitizer_finds_a_missing_wait(waits: bool) -> None:
    done = run(RACE.format(waits=waits), TORCH_CUDA_SANITIZER="1")
    assert ("no race" in done.stdout) is waits, describe(done)
    assert ("CSAN detected a possible data race" in done.stderr) is not waits

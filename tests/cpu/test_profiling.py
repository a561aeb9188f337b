"""Ranges, the runtime and sensors."""

from __future__ import annotations

import threading
import time

import pytest
import torch

from morph.errors import MissingNameError

pytestmark = pytest.mark.platforms("cpu")


def test_ranges_are_seen_by_torchs_profiler() -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        with torch.cuda.nvtx.range("step {}", 3):
            torch.cuda.nvtx.mark("moment")
        number = torch.cuda.nvtx.range_start("loose")
        torch.cuda.nvtx.range_end(number)
    assert {"step 3", "moment", "loose"} <= {event.key for event in profile.key_averages()}


def test_tables_are_sorted_by_the_time_on_the_device() -> None:
    with torch.profiler.profile() as profile:
        torch.ones(1, device="cuda").add(1)
        with torch.profiler.record_function("longest"):
            time.sleep(0.1)
    events = profile.key_averages()
    for metric in ("cuda_time_total", "self_cuda_time_total", "device_time_total", "cpu_time_total"):
        assert "longest" in events.table(sort_by=metric, row_limit=1)
    assert "aten::add" in events.table(sort_by="cuda_memory_usage")


def test_ranges_nest_by_thread() -> None:
    depths: list[int] = []
    assert torch.cuda.nvtx.range_push("outer") == 0
    assert torch.cuda.nvtx.range_push("inner") == 1
    thread = threading.Thread(target=lambda: depths.append(torch.cuda.nvtx.range_pop()))
    thread.start()
    thread.join()
    assert depths == [-1]
    assert (torch.cuda.nvtx.range_pop(), torch.cuda.nvtx.range_pop()) == (1, 0)


def test_the_runtime_answers_what_it_can() -> None:
    runtime = torch.cuda.cudart()
    torch.cuda.check_error(runtime.cudaProfilerStart())
    with torch.cuda.profiler.profile():
        assert runtime.cudaMemGetInfo(0)[1] == torch.cuda.mem_get_info()[1]
    assert runtime.cudaGetErrorString(runtime.cudaError.success) == "no error"
    with pytest.raises(torch.cuda.CudaError, match=r"\(2\)"):
        torch.cuda.check_error(2)
    with pytest.raises(MissingNameError, match=r"cudart\(\)\.cudaMalloc"):
        runtime.cudaMalloc(8)


def test_the_processor_is_measured() -> None:
    assert 0 <= torch.cuda.utilization() <= 100


@pytest.mark.parametrize("name", ["temperature", "clock_rate", "power_draw"])
def test_a_sensor_tells_or_is_refused_by_name(name: str) -> None:
    try:
        value = getattr(torch.cuda, name)()
    except MissingNameError as refusal:
        value, refused = 1, str(refusal)
    else:
        refused = f"torch.cuda.{name}"
    assert 0 < value < 1_000_000
    assert refused.startswith(f"torch.cuda.{name}")

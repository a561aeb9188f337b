"""Profilers with CUDA activities, nvtx, and the functions of `torch.cuda.cudart()`."""

import json
import pathlib
import warnings

import pytest
import torch
from torch.cuda import nvtx
from torch.profiler import ProfilerActivity, profile, record_function, schedule

from tests.platforms import ACCELERATORS


def work() -> None:
    matrix = torch.ones(8, 8, device="cuda")
    with record_function("a step"):
        (matrix @ matrix).sum().item()


def test_cuda_activities_record_and_tabulate() -> None:
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) as profiler:
        work()
    assert isinstance(profiler, torch.profiler.profile)
    for order in ("cuda_time_total", "self_cuda_time_total", "device_time_total", "cpu_time_total"):
        assert "a step" in profiler.key_averages().table(sort_by=order, row_limit=10)


@pytest.mark.platforms(*ACCELERATORS)
def test_cuda_alone_is_an_activity() -> None:
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        work()
    assert profiler.profiler is not None


@pytest.mark.platforms("cpu")
def test_the_software_device_records_its_kernels() -> None:
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        work()
    assert {event.key for event in profiler.key_averages()} >= {
        "morph::gemm_kernel<mm>",
        "morph::kernel<sum>",
    }


def test_schedules_and_traces(tmp_path: pathlib.Path) -> None:
    trace = tmp_path / "trace.json"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*Profiler clears events.*")
        with profile(
            activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
            schedule=schedule(wait=1, warmup=1, active=1),
            on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(trace)),
        ) as profiler:
            for _ in range(3):
                work()
                profiler.step()
    names = [event.get("name") for event in json.loads(trace.read_text())["traceEvents"]]
    assert "a step" in names


@pytest.mark.platforms(*ACCELERATORS)
def test_ranges_for_nvidias_tools_do_nothing() -> None:
    ranges = torch.autograd.profiler.emit_nvtx()
    assert not ranges.enabled
    with ranges:
        work()


def test_a_range_ends_when_its_block_raises() -> None:
    with pytest.raises(ZeroDivisionError), nvtx.range("fails"):
        _ = 1 / 0


@pytest.mark.platforms("npu")
def test_flags_of_registered_memory_are_the_vendors() -> None:
    from morph.aliases.adapters.npu.cuda_runtime import ACL_MAPPED, ACL_PINNED, register_flags

    assert register_flags(0) == register_flags(1) == ACL_PINNED
    assert register_flags(2) == register_flags(3) == ACL_PINNED | ACL_MAPPED

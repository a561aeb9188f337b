"""Torch's profiler is told the device's kernels, copies and waits, as CUPTI tells it those of a GPU."""

import json
import pathlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

ACTIVITIES = [ProfilerActivity.CPU, ProfilerActivity.CUDA]


def profiled(function: Callable[[], object]) -> Any:
    torch.ones(1, device="cuda")
    with profile(activities=ACTIVITIES) as profiler:
        function()
    return profiler


def keys(profiler: Any) -> set[str]:
    return {event.key for event in profiler.key_averages()}


def test_an_operator_is_a_launch_and_a_kernel() -> None:
    matrix = torch.randn(64, 64, device="cuda")
    profiler = profiled(lambda: matrix @ matrix)
    averages = {event.key: event for event in profiler.key_averages()}
    kernel, operator = averages["morph::gemm_kernel<mm>"], averages["aten::mm"]
    assert kernel.device_type == torch.autograd.DeviceType.CUDA
    assert kernel.self_device_time_total == operator.self_device_time_total > 0
    assert kernel.self_cpu_time_total == 0
    assert averages["cudaLaunchKernel"].count == kernel.count == 1


COPIES: dict[str, Callable[[torch.Tensor], object]] = {
    "Memcpy DtoH (Device -> Pageable)": lambda x: x.cpu(),
    "Memcpy HtoD (Pageable -> Device)": lambda x: torch.ones(4).cuda(),
    "Memcpy HtoD (Pinned -> Device)": lambda x: torch.ones(4).pin_memory().cuda(non_blocking=True),
    "Memcpy DtoD (Device -> Device)": lambda x: torch.zeros(4, device="cuda").copy_(x),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies(name: str) -> None:
    x = torch.ones(4, device="cuda")
    assert {name, "cudaMemcpyAsync"} <= keys(profiled(lambda: COPIES[name](x)))


def test_a_copy_has_its_bytes(tmp_path: pathlib.Path) -> None:
    profiled(torch.ones(4, device="cuda").cpu).export_chrome_trace(str(tmp_path / "trace"))
    events = json.loads((tmp_path / "trace").read_text())["traceEvents"]
    assert [event["args"]["bytes"] for event in events if event.get("cat") == "gpu_memcpy"] == [16]


CHANGED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "type": torch.Tensor.half,
    "order": torch.Tensor.t,
    "size": lambda x: x[:1].expand(8, 8),
}


@pytest.mark.parametrize("what", CHANGED)
def test_a_copy_that_changes_something_is_a_kernel(what: str) -> None:
    given = CHANGED[what](torch.ones(8, 8, device="cuda"))
    into = torch.zeros(8, 8, device="cuda")
    found = keys(profiled(lambda: into.copy_(given)))
    assert {"morph::kernel<copy_>", "cudaLaunchKernel"} <= found
    assert "Memcpy DtoD (Device -> Device)" not in found


def test_an_item_is_copied_to_the_host() -> None:
    assert "Memcpy DtoH (Device -> Pinned)" in keys(profiled(torch.ones(1, device="cuda").item))


def test_a_range_spans_what_it_started() -> None:
    x = torch.ones(64, 64, device="cuda")

    def step() -> None:
        with torch.profiler.record_function("a step"):
            (x @ x).add(1)

    of_device = [event for event in profiled(step).key_averages() if event.self_cpu_time_total == 0]
    times = {event.key: event.self_device_time_total for event in of_device}
    assert times["a step"] >= times["morph::gemm_kernel<mm>"] + times["morph::kernel<add>"]


def test_waits() -> None:
    x = torch.ones(4, device="cuda")
    assert "cudaStreamSynchronize" in keys(profiled(x.cpu))
    assert "cudaStreamSynchronize" not in keys(profiled(lambda: x.to("cpu", non_blocking=True)))
    assert "cudaDeviceSynchronize" in keys(profiled(torch.cuda.synchronize))


def test_a_replayed_graph_is_launched_by_one_call() -> None:
    x, graph = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph()
    y = torch.zeros(4, device="cuda")
    with torch.cuda.graph(graph):
        y.copy_((x + 1) * 2)
    averages = {event.key: event.count for event in profiled(graph.replay).key_averages()}
    kernels = {key: count for key, count in averages.items() if key.startswith(("morph::", "Memcpy"))}
    names = ("morph::kernel<add>", "morph::kernel<mul>", "Memcpy DtoD (Device -> Device)")
    assert kernels == dict.fromkeys(names, 1)
    assert averages["cudaGraphLaunch"] == 1
    assert not averages.keys() & {"cudaLaunchKernel", "cudaMemcpyAsync"}


def test_calls_for_events_and_memory() -> None:
    side, event = torch.cuda.Stream(), torch.cuda.Event()
    torch.cuda.empty_cache()

    def calls() -> None:
        torch.empty(64 << 20, device="cuda", dtype=torch.uint8)
        torch.cuda.empty_cache()
        event.record()
        side.wait_event(event)
        event.synchronize()
        event.query()
        side.query()

    wanted = {"cudaMalloc", "cudaFree", "cudaEventRecordWithFlags", "cudaEventSynchronize"}
    assert wanted | {"cudaStreamWaitEvent", "cudaEventQuery", "cudaStreamQuery"} <= keys(profiled(calls))


def test_the_device_alone() -> None:
    x = torch.ones(4, device="cuda")
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        x.add(1)
    assert {"morph::kernel<add>", "cudaLaunchKernel"} <= keys(profiler)
    assert "aten::add" not in keys(profiler)


def test_the_host_alone() -> None:
    x = torch.ones(4, device="cuda")
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        x.add(1)
    assert {"aten::add", "cudaLaunchKernel"} <= keys(profiler)
    assert "morph::kernel<add>" not in keys(profiler)


def test_lists_of_like_tensors_are_one_kernel() -> None:
    like = [torch.ones(3, device="cuda") for _ in range(4)]
    unlike = [torch.ones(3, device="cuda"), torch.ones(3, device="cuda", dtype=torch.half)]
    assert "multi_tensor_apply_kernel<add>" in keys(profiled(lambda: torch._foreach_add(like, 1.0)))
    assert "morph::kernel<add>" not in keys(profiled(lambda: torch._foreach_add(like, 1.0)))
    assert "multi_tensor_apply_kernel<add>" not in keys(profiled(lambda: torch._foreach_add(unlike, 1.0)))
    norms = profiled(lambda: torch._foreach_norm(like, 1, torch.float64))
    assert "multi_tensor_apply_kernel<norm>" in keys(norms)


@pytest.mark.parametrize("name", ["clamp_max", "clamp_min", "maximum", "minimum"])
def test_lists_of_integers_are_bounded_one_by_one(name: str) -> None:
    """As in ForeachBinaryOpList.cu."""
    numbers = [torch.ones(2, device="cuda", dtype=torch.int32) for _ in range(2)]
    bounded = profiled(lambda: getattr(torch, f"_foreach_{name}_")(numbers, numbers))
    assert f"multi_tensor_apply_kernel<{name}>" not in keys(bounded)


def test_a_backward_thread_and_streams(tmp_path: pathlib.Path) -> None:
    weight = torch.ones(8, 8, device="cuda", requires_grad=True)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())

    def step() -> None:
        with torch.cuda.stream(stream):
            (weight @ weight).sum().backward()

    profiler = profiled(step)
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    kernels = [event for event in events if event.get("cat") == "kernel"]
    assert {event["args"]["stream"] for event in kernels} == {stream.stream_id}
    assert [event["name"] for event in kernels].count("morph::gemm_kernel<mm>") == 3
    operators = {event["args"]["External id"]: event for event in events if event.get("cat") == "cpu_op"}
    named = [(event["name"], operators[event["args"]["External id"]]["name"]) for event in kernels]
    assert ("morph::gemm_kernel<mm>", "aten::mm") in named
    launches = {event["args"]["correlation"] for event in events if event.get("cat") == "cuda_runtime"}
    assert {event["args"]["correlation"] for event in kernels} <= launches


def test_an_operator_that_fails_is_no_kernel() -> None:
    def fails() -> None:
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            torch.ones(2, 3, device="cuda") @ torch.ones(2, 3, device="cuda")

    assert "morph::gemm_kernel<mm>" not in keys(profiled(fails))


def test_calls_of_several_recordings_are_told_apart() -> None:
    x = torch.ones(4, device="cuda")

    def calls() -> set[int]:
        events = profiled(lambda: x + x).profiler.kineto_results.events()
        return {event.correlation_id() for event in events if event.name() == "cudaLaunchKernel"}

    assert calls().isdisjoint(calls())


def test_waits_are_events_of_their_own_where_they_are_wanted(tmp_path: pathlib.Path) -> None:
    wanted = torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True)
    with profile(activities=ACTIVITIES, experimental_config=wanted) as profiler:
        torch.ones(1, device="cuda").add(1)
        torch.cuda.synchronize()
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert "Context Sync" in [event["name"] for event in events if event.get("cat") == "cuda_sync"]


def test_memory_that_is_refused_is_an_event(tmp_path: pathlib.Path) -> None:
    with profile(activities=ACTIVITIES, profile_memory=True) as profiler:
        with pytest.raises(torch.OutOfMemoryError):
            torch.empty(1 << 44, device="cuda")
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    (refused,) = (event for event in events if event["name"] == "[OutOfMemory]")
    assert refused["args"]["Bytes"] >= 1 << 46

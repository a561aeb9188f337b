"""Intel's adapters on the simulated device: they serve CUDA's names with torch.xpu's own code."""

import copy
import ctypes
import pathlib
import pickle
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.distributed as dist

from morph.aliases.adapters.xpu import amp, properties
from morph.base.errors import MissingNameError
from tests.platforms import Platform


def on_the_device(test: Callable[..., None]) -> Callable[..., None]:
    return pytest.mark.platforms("simulated-xpu")(pytest.mark.usefixtures("worker")(test))


@on_the_device
def test_properties_have_the_fields_of_cuda_in_the_units_of_cuda() -> None:
    found: Any = torch.cuda.get_device_properties(0)  # of a Data Center GPU Max 1550
    assert isinstance(found, torch.cuda._CudaDeviceProperties)
    assert (found.major, found.minor, found.multi_processor_count, found.warp_size) == (8, 0, 64, 32)
    assert (found.max_threads_per_multi_processor, found.max_threads_per_block) == (2048, 1024)
    assert (found.memory_clock_rate, found.memory_bus_width) == (3200000, 64)  # kHz, bits
    assert found.shared_memory_per_block == found.shared_memory_per_multiprocessor == 131072
    assert found.L2_cache_size == 213909504
    assert (found.is_integrated, found.total_memory) == (0, 64 << 30)
    assert found.uuid == torch.xpu.get_device_properties(0).uuid
    assert found.gpu_eu_count == 512
    assert "multi_processor_count=64" in repr(found)
    assert {"warp_size", "gpu_eu_count"} <= set(dir(found))


@on_the_device
def test_the_capability_is_a_pair() -> None:
    assert torch.cuda.get_device_capability("cuda:1") == (8, 0)
    without = {"has_bfloat16_conversions": False, "has_fp64": True}
    assert properties.get_device_capability(lambda device: without) == (7, 0)


@on_the_device
def test_sensors_answer_in_whole_numbers_and_milliwatts() -> None:
    own: Any = torch.xpu
    assert torch.cuda.power_draw() == own.power_draw() * 1000
    for name in ("power_draw", "clock_rate", "temperature", "utilization", "memory_usage"):
        assert type(getattr(torch.cuda, name)(0)) is int
    assert torch.cuda.temperature() == round(own.temperature()) != own.temperature()


@on_the_device
def test_an_event_takes_what_changes_nothing_and_refuses_what_it_lacks() -> None:
    assert isinstance(torch.cuda.Event(enable_timing=True, blocking=True), torch.xpu.Event)
    for parameter in ("interprocess", "external"):
        with pytest.raises(MissingNameError, match=parameter):
            torch.cuda.Event(**{parameter: True})


@on_the_device
def test_the_default_stream_is_the_one_that_a_thread_begins_with() -> None:
    default = torch.cuda.current_stream()
    with torch.cuda.stream(torch.cuda.Stream()):
        assert torch.cuda.current_stream() != torch.cuda.default_stream() == default
    assert torch.cuda.default_stream("cuda:1") == torch.cuda.current_stream(1)


@on_the_device
def test_a_stream_around_another_librarys_queue() -> None:
    stream = torch.cuda.ExternalStream(0x7F00_0000_1000, device="cuda:1")
    assert isinstance(stream, torch.cuda.ExternalStream)
    assert isinstance(stream, torch.xpu.Stream)
    assert (stream.cuda_stream, stream.device.index) == (0x7F00_0000_1000, 1)


@on_the_device
def test_a_capture_takes_the_mode_of_cuda() -> None:
    graph, source = torch.cuda.CUDAGraph(), torch.ones(2, device="cuda")
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        result = source + 1
    source.fill_(5)
    graph.replay()
    assert result.tolist() == [6, 6]
    other = torch.cuda.CUDAGraph(keep_graph=True)
    with torch.cuda.stream(torch.cuda.Stream()):
        other.capture_begin(graph.pool(), "relaxed")
        source.add_(1)
        other.capture_end()
    other.instantiate()
    assert other.pool() == graph.pool()
    with pytest.raises(MissingNameError, match="check_input_liveness"):
        torch.cuda.CUDAGraph().capture_begin(check_input_liveness=True)
    assert not hasattr(graph, "raw_cuda_graph")


@on_the_device
def test_pools_take_the_parameters_of_cuda() -> None:
    pool = torch.cuda.MemPool(use_on_oom=True)
    with torch.cuda.use_mem_pool(pool):
        kept = torch.ones(2, device="cuda")
    (segment,) = pool.snapshot(include_traces=False)
    (same,) = torch.cuda.memory_snapshot(pool.id, include_traces=False)
    assert segment["address"] == same["address"] == kept.data_ptr()
    with pytest.raises(MissingNameError, match="no_split"):
        torch.cuda.MemPool(no_split=True)


@on_the_device
def test_a_pluggable_allocator_names_its_file_as_cudas(tmp_path: pathlib.Path) -> None:
    source, library = tmp_path / "allocator.c", tmp_path / "allocator.so"
    source.write_text("void *take(long n, int device, void *q) { return 0; } void give(void *p) {}")
    compiler = shutil.which("cc") or "gcc"
    subprocess.run([compiler, "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    made = torch.cuda.memory.CUDAPluggableAllocator(
        path_to_so_file=str(library), alloc_fn_name="take", free_fn_name="give"
    )
    assert isinstance(made, torch.xpu.XPUPluggableAllocator)
    functions = ctypes.CDLL(str(library))
    pair = functions.take, functions.give
    assert made.allocator().functions == tuple(ctypes.cast(each, ctypes.c_void_p).value for each in pair)


@on_the_device
def test_memory_history_takes_the_parameters_of_cuda() -> None:
    torch.cuda.memory._record_memory_history(max_entries=2, device=1, clear_history=True)
    del [torch.ones(1, device="cuda")][0]
    actions = [event["action"] for event in torch.cuda.memory._snapshot()["device_traces"][0]]
    assert actions == ["free_requested", "free_completed"]  # the last two of three
    with pytest.warns(UserWarning, match="compile_context"):
        torch.cuda.memory._record_memory_history(compile_context=True)
    torch.cuda.memory._record_memory_history(clear_history=True, skip_actions=["alloc", "free_requested"])
    del [torch.ones(1, device="cuda")][0]
    assert {event["action"] for event in torch.cuda.memory._snapshot()["device_traces"][0]} == {
        "free_completed"
    }
    torch.cuda.memory._record_memory_history(None)


@on_the_device
def test_statistics_refuse_by_name_what_is_not_counted() -> None:
    stats = torch.cuda.memory_stats()
    assert stats["allocated_bytes.all.current"] == torch.cuda.memory_allocated()
    assert stats.get("num_ooms", 0) == 0
    with pytest.raises(KeyError, match="num_ooms"):
        _ = stats["num_ooms"]
    assert type(pickle.loads(pickle.dumps(stats))).__module__ == "collections"
    assert copy.copy(stats) == stats


@on_the_device
def test_the_summary_of_the_memory_is_a_table() -> None:
    kept = torch.ones(1 << 20, device="cuda")
    lines = torch.cuda.memory_summary().splitlines()
    assert len({len(line) for line in lines if line.strip()}) == 1, lines
    allocated = next(line for line in lines if line.startswith("Allocated memory"))
    assert allocated.split("|")[1].strip() == f"{torch.cuda.memory_allocated() >> 10} KiB", allocated
    assert len(torch.cuda.memory_summary(abbreviated=True).splitlines()) == len(lines) - 8
    assert kept.nbytes == 4 << 20


@on_the_device
def test_the_runtime_refuses_by_name_what_torch_does_not_bind() -> None:
    cudart = torch.cuda.cudart()
    with pytest.raises(MissingNameError, match=r"cudaHostRegister.*pin_memory"):
        cudart.cudaHostRegister(0, 1, 0)
    with pytest.raises(MissingNameError, match="cudaStreamCreate"):
        cudart.cudaStreamCreate(0)
    assert cudart.cudaGetErrorString(0) == "no error"
    with pytest.raises(MissingNameError, match=r"torch\.cuda\.host_memory_stats"):
        torch.cuda.host_memory_stats()


@on_the_device
@pytest.mark.parametrize("has_float64", [True, False])
def test_the_reciprocal_of_the_scale_is_taken_where_there_is_float64(has_float64: bool) -> None:
    weight = torch.nn.Parameter(torch.ones(3, device="cuda"))
    weight.grad = torch.full_like(weight, 8.0)
    scaler = torch.amp.GradScaler("cuda", init_scale=8.0)
    scaler.scale(torch.ones(1, device="cuda"))
    optimizer, seen = torch.optim.SGD([weight]), []

    def unscale(scaler: Any, optimizer: torch.optim.Optimizer) -> None:
        seen.append(scaler._scale.device.type)
        torch.amp.GradScaler.unscale_.__wrapped__(scaler, optimizer)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(amp, "_has_float64", lambda device: has_float64)
        amp.unscale(unscale, scaler, optimizer)
    assert seen == ["cuda" if has_float64 else "cpu"]
    assert weight.grad.tolist() == [1, 1, 1]
    assert (scaler._scale.device.type, scaler.get_scale()) == ("xpu", 8)


@on_the_device
def test_a_scaler_that_is_off_unscales_nothing() -> None:
    scaler = torch.amp.GradScaler("cuda", enabled=False)
    scaler.unscale_(torch.optim.SGD([torch.ones(1, device="cuda")]))
    assert not scaler.is_enabled()


@on_the_device
def test_ranges_tell_how_deep_they_are() -> None:
    assert [torch.cuda.nvtx.range_push(name) for name in ("outer", "inner")] == [0, 1]
    with torch.cuda.nvtx.range("within {}", "both"):
        assert torch.cuda.nvtx.range_push("innermost") == 3
        assert torch.cuda.nvtx.range_pop() == 3
    assert [torch.cuda.nvtx.range_pop() for _ in range(3)] == [1, 0, -1]


@on_the_device
def test_groups_take_the_options_of_nccls(tmp_path: pathlib.Path) -> None:
    dist.init_process_group("nccl", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        options = dist.ProcessGroupNCCL.Options(is_high_priority_stream=True)
        group = dist.new_group([0], pg_options=options)
        assert isinstance(group._get_backend(torch.device("cuda")), dist.ProcessGroupNCCL)
        assert dist.get_backend(group) == "xccl"
    finally:
        dist.destroy_process_group()


@pytest.mark.platforms("simulated-xpu")
def test_cudas_mask_of_devices_is_intels(platform: Platform) -> None:
    program = "import torch; print(torch.cuda.device_count(), torch.ones(1).cuda().device)"
    done = platform.run(program, environment={"CUDA_VISIBLE_DEVICES": "1"})
    assert done.stdout.split() == ["1", "cuda:0"]

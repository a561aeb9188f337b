"""Intel's adapters as far as they run without the device: against torch.xpu's own code and signatures."""

from __future__ import annotations

import copy
import inspect
import pickle
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from morph import surfaces
from morph.aliases.torch_cuda import memory as shared_memory
from morph.aliases.torch_cuda.xpu import (
    amp,
    graphs,
    memory,
    precision,
    properties,
    runtime,
    sensors,
    streams,
)
from morph.backends import resolve
from morph.errors import MissingNameError
from tests.platforms import Platform

SURFACE = surfaces.load("torch_xpu-2.13.0")
# What torch.xpu.get_device_properties() tells of a Data Center GPU Max 1550, as far as CUDA has the like.
MAX_1550 = types.SimpleNamespace(
    name="Intel(R) Data Center GPU Max 1550",
    gpu_eu_count=512,
    gpu_subslice_count=64,
    is_integrated_gpu=False,
    last_level_cache_size=213909504,
    local_mem_size=131072,
    max_work_group_size=1024,
    memory_bus_width=64,
    memory_clock_rate=3200,
    sub_group_sizes=[16, 32],
    total_memory=68719476736,
    uuid="01000000-0000-0000-0000-0000bd05003a",
)


def on_the_device(test: Callable[..., None]) -> Callable[..., None]:
    return pytest.mark.platforms("simulated-xpu")(pytest.mark.usefixtures("worker")(test))


def test_the_recorded_surface_is_that_of_the_installed_torch() -> None:
    assert [name for name in sorted(SURFACE.names) if not _exists(name)] == []
    modules = [resolve(name) for name in sorted(SURFACE.modules)]
    public = [f"{module.__name__}.{name}" for module in modules for name in getattr(module, "__all__", [])]
    assert [name for name in public if name not in SURFACE.names] == []


def test_properties_have_the_fields_of_cuda_in_the_units_of_cuda() -> None:
    found = properties.DeviceProperties(MAX_1550, (8, 0))
    assert (found.major, found.minor, found.multi_processor_count, found.warp_size) == (8, 0, 64, 32)
    assert (found.max_threads_per_multi_processor, found.max_threads_per_block) == (2048, 1024)
    assert (found.memory_clock_rate, found.memory_bus_width) == (3200000, 64)  # kHz, bits
    assert found.shared_memory_per_block == found.shared_memory_per_multiprocessor == 131072
    assert found.L2_cache_size == 213909504
    assert (found.is_integrated, found.uuid, found.total_memory) == (0, MAX_1550.uuid, 68719476736)
    assert found.gpu_eu_count == 512
    assert "multi_processor_count=64" in repr(found)
    assert {"warp_size", "gpu_eu_count"} <= set(dir(found))
    with pytest.raises(MissingNameError, match="clock_rate"):
        _ = found.clock_rate


@on_the_device
@pytest.mark.parametrize(("has_bfloat16", "capability"), [(True, (8, 0)), (False, (7, 0))])
def test_the_capability_is_a_pair(has_bfloat16: bool, capability: tuple[int, int]) -> None:
    features = {"has_bfloat16_conversions": has_bfloat16, "has_fp64": True}
    assert properties.get_device_capability(lambda device: features) == capability


def test_sensors_answer_in_whole_numbers_and_milliwatts() -> None:
    assert sensors.power_draw(lambda device: 123.4567) == 123457
    rounded = sensors.rounded(lambda device: 41.6)
    assert (rounded, type(rounded)) == (42, int)


def test_an_event_takes_what_changes_nothing_and_refuses_what_it_lacks() -> None:
    target = accepted_by(torch.xpu.Event.__new__)
    given = streams.new_event(target, torch.xpu.Event, enable_timing=True, blocking=True)
    assert given == {"cls": torch.xpu.Event, "enable_timing": True}
    for parameter in ("interprocess", "external"):
        with pytest.raises(MissingNameError, match=parameter):
            streams.new_event(target, torch.xpu.Event, **{parameter: True})


def test_a_capture_takes_the_mode_of_cuda() -> None:
    target = accepted_by(torch.xpu.XPUGraph.capture_begin)
    assert graphs.capture_begin(target, "graph", (0, 1), "thread_local") is None
    with pytest.raises(MissingNameError, match="check_input_liveness"):
        graphs.capture_begin(target, "graph", check_input_liveness=True)


def test_pools_and_allocators_take_the_parameters_of_cuda() -> None:
    memory.initialise_pool(accepted_by(torch.xpu.MemPool.__init__), "pool", allocator=None, use_on_oom=True)
    with pytest.raises(MissingNameError, match="no_split"):
        memory.initialise_pool(accepted_by(torch.xpu.MemPool.__init__), "pool", no_split=True)
    target = accepted_by(torch.xpu.XPUPluggableAllocator.__init__)
    memory.initialise_allocator(target, "self", path_to_so_file="a.so", alloc_fn_name="a", free_fn_name="f")
    given = shared_memory.memory_snapshot(accepted_by(torch.xpu.memory_snapshot), include_traces=False)
    assert given == {"mempool_id": None}


def test_memory_history_takes_the_parameters_of_cuda() -> None:
    calls: list[dict[str, Any]] = []
    accepted = accepted_by(torch.xpu.memory._record_memory_history)

    def target(*args: Any) -> None:
        calls.append(accepted(*args))

    memory.record_memory_history(target, max_entries=7, device=1, clear_history=True, skip_actions=["oom"])
    assert calls[0]["max_entries"] == 7
    assert (calls[0]["clear_history"], calls[0]["skip_actions"]) == (True, ["oom"])
    with pytest.warns(UserWarning, match="compile_context=True"):
        memory.record_memory_history(target, compile_context=True)


def test_statistics_refuse_by_name_what_is_not_counted() -> None:
    stats = memory.memory_stats(lambda device: {"allocated_bytes.all.current": 3})
    assert stats["allocated_bytes.all.current"] == 3
    assert stats.get("num_ooms", 0) == 0
    with pytest.raises(KeyError, match="num_ooms"):
        _ = stats["num_ooms"]
    assert type(pickle.loads(pickle.dumps(stats))).__module__ == "collections"
    assert copy.copy(stats) == stats


def test_the_runtime_refuses_by_name_what_torch_does_not_bind() -> None:
    cudart = runtime.cudart()
    with pytest.raises(MissingNameError, match=r"cudaHostRegister.*pin_memory"):
        cudart.cudaHostRegister(0, 1, 0)
    with pytest.raises(MissingNameError, match="cudaStreamCreate"):
        cudart.cudaStreamCreate(0)
    assert cudart.cudaGetErrorString(0) == "no error"


@pytest.fixture
def onednn(monkeypatch: pytest.MonkeyPatch) -> Iterator[types.SimpleNamespace]:
    """The flags of oneDNN in a torch that is built for Intel GPUs; in others they cannot be set."""
    flags = types.SimpleNamespace(allow_tf32=False)
    monkeypatch.setattr(precision, "_onednn", flags)
    products, convolutions = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    yield flags
    torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = products, convolutions


def test_one_switch_follows_both_of_cuda(onednn: types.SimpleNamespace) -> None:
    switches = precision.switches
    switches.matmul.allow_tf32 = True
    assert (torch.backends.cuda.matmul.allow_tf32, onednn.allow_tf32) == (True, True)
    switches.allow_tf32.__set__(torch.backends.cudnn, False)
    assert (torch.backends.cudnn.allow_tf32, onednn.allow_tf32) == (False, False)
    switches.allow_tf32.__set__(torch.backends.cudnn, True)
    switches.matmul.allow_tf32 = False
    assert onednn.allow_tf32 is False


@pytest.mark.parametrize("has_float64", [True, False])
def test_the_reciprocal_is_taken_where_there_is_float64(
    monkeypatch: pytest.MonkeyPatch, has_float64: bool
) -> None:
    monkeypatch.setattr(amp, "_has_float64", lambda device: has_float64)
    scale = types.SimpleNamespace(device=torch.device("xpu", 0), cpu=lambda: "on the host")
    scaler = types.SimpleNamespace(_scale=scale)
    seen: list[Any] = []
    amp.unscale(
        lambda scaler, optimizer: seen.append(scaler._scale), scaler, torch.optim.SGD([torch.ones(1)])
    )
    assert seen == [scale if has_float64 else "on the host"]
    assert scaler._scale is scale


def test_gradients_are_unscaled_by_a_scale_on_the_host() -> None:
    """What `unscale` relies on: torch's scaler takes the scale to where the gradients are."""
    weight = torch.nn.Parameter(torch.ones(3, device="meta"))
    weight.grad = torch.ones(3, device="meta")
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    scaler.scale(torch.ones(1))
    scaler.unscale_(torch.optim.SGD([weight]))
    assert weight.grad.device.type == "meta"


@pytest.mark.platforms("npu")
def test_the_default_stream_is_the_one_that_a_thread_begins_with(platform: Platform) -> None:
    program = """
import torch
from morph.aliases.torch_cuda.xpu import streams
with torch.cuda.stream(torch.cuda.Stream()):
    assert torch.cuda.current_stream() != torch.cuda.default_stream()
    assert streams.default_stream() == torch.cuda.default_stream()
torch.ones(1, device="cuda:1")
assert streams.default_stream("cuda:1") == torch.cuda.default_stream(1)
"""
    platform.run(program)


@pytest.mark.platforms("npu")
def test_the_summary_of_the_memory_is_a_table(platform: Platform) -> None:
    program = """
import torch
from morph.aliases.torch_cuda.xpu import memory
kept = torch.ones(1 << 20, device="cuda")
lines = memory.memory_summary().splitlines()
assert len({len(line) for line in lines if line.strip()}) == 1, lines
allocated = next(line for line in lines if line.startswith("Allocated memory"))
assert allocated.split("|")[1].strip() == f"{torch.cuda.memory_allocated() >> 10} KiB", allocated
assert len(memory.memory_summary(abbreviated=True).splitlines()) == len(lines) - 8
"""
    platform.run(program)


def accepted_by(function: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """Returns what gives the arguments by name, if torch's own function takes them."""
    signature = inspect.signature(function)
    return lambda *args, **kwargs: dict(signature.bind(*args, **kwargs).arguments)


def _exists(name: str) -> bool:
    try:
        resolve(name)
    except AttributeError:
        return False
    return True

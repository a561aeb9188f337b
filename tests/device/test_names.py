"""Names and members, private ones too: each spelling leads to one object, and what is missing is refused."""

import importlib
import inspect
import sys
from typing import Any

import pytest
import torch
import torch.cuda.amp

from morph.backends import active
from morph.backends.tables.rows import Status
from morph.base.errors import MissingNameError
from tests.platforms import ACCELERATORS, Platform

# tools that describe a vendor's devices where its package does not
TOOLS = {"npu": "npu-smi", "musa": "pymtml"}


def test_an_adapted_function_looks_as_cudas_own() -> None:
    function = torch.cuda.get_device_properties
    assert (function.__name__, function.__module__) == ("get_device_properties", "torch.cuda")
    assert list(inspect.signature(function).parameters) == ["device"]
    assert function.__doc__
    assert "Get the properties of a device" in function.__doc__


@pytest.mark.platforms(*(f"simulated-{backend}" for backend in TOOLS))
def test_a_reading_that_nobody_tells_says_where_else_to_look(platform: Platform) -> None:
    own = platform.backend
    with pytest.raises(ModuleNotFoundError, match=rf"^torch\.cuda\.temperature cannot tell.*{TOOLS[own]}"):
        torch.cuda.temperature()


@pytest.mark.platforms(*ACCELERATORS)
@pytest.mark.parametrize("name", ["gds", "green_contexts", "jiterator", "tunable"])
def test_a_submodule_that_the_vendor_lacks_is_imported_and_has_no_names(name: str) -> None:
    module = importlib.import_module(f"torch.cuda.{name}")
    assert not hasattr(torch.cuda, name)
    assert [each for each in module.__all__ if hasattr(module, each)] == []
    with pytest.raises(ImportError):
        exec(f"from torch.cuda.{name} import nothing_of_the_kind")


@pytest.mark.platforms(*ACCELERATORS)
def test_member_names_are_the_vendors_own_under_cudas_name(platform: Platform) -> None:
    stream, event, own = torch.cuda.Stream(), torch.cuda.Event(), platform.device_type
    names = ("sycl_queue", "sycl_event") if own == "xpu" else (f"{own}_stream", f"{own}_event")
    event.record(stream)
    assert stream.cuda_stream == getattr(stream, names[0])
    assert event.cuda_event == getattr(event, names[1])
    assert isinstance(stream.record_event(), torch.cuda.Event)


@pytest.mark.platforms("npu", "simulated-npu", "simulated-xpu")
def test_a_parameter_that_the_vendor_cannot_honour_is_refused_by_name() -> None:
    with pytest.raises(AttributeError, match=r"torch\.cuda\.Event\(external=True\) does not exist"):
        torch.cuda.Event(external=True)


def test_error_classes_are_those_that_are_raised() -> None:
    assert issubclass(torch.cuda.OutOfMemoryError, RuntimeError)
    assert torch.cuda.OutOfMemoryError is torch.OutOfMemoryError
    assert torch.cuda.AcceleratorError is torch.AcceleratorError


@pytest.mark.platforms("npu")
def test_asking_for_a_name_that_is_not_there_runs_no_module_again() -> None:
    before = set(sys.modules)
    assert not hasattr(torch.cuda.memory, "_no_such_name")
    assert not hasattr(torch.cuda.amp, "no_such_name")
    assert torch.cuda.memory.memory_stats is torch.cuda.memory_stats is torch.npu.memory_stats
    assert set(sys.modules) == before


_C: Any = torch._C


def test_the_current_device_is_read_and_set() -> None:
    last = torch.cuda.device_count() - 1
    torch.empty(1, device=f"cuda:{last}")  # torch_npu has no default stream for a device that was never used
    with torch.cuda.device(0):
        _C._cuda_setDevice(last)
        assert _C._cuda_getDevice() == torch.cuda.current_device() == last
        assert _C._cuda_exchangeDevice(0) == last
        assert _C._cuda_maybeExchangeDevice(-1) == -1
        assert torch.cuda.current_device() == 0


def test_the_current_stream_is_read_and_set() -> None:
    stream = torch.cuda.Stream()
    place = stream.stream_id, stream.device_index, stream.device_type
    with torch.cuda.stream(torch.cuda.current_stream()):
        _C._cuda_setStream(stream_id=place[0], device_index=place[1], device_type=place[2])
        assert torch.cuda.current_stream() == stream
        assert _C._cuda_getCurrentStream(0) == place
        assert _C._cuda_getCurrentRawStream(0) == stream.cuda_stream


@pytest.mark.platforms("cpu", "npu", "simulated-npu", "simulated-mlu", "simulated-musa")
def test_the_default_stream_has_its_place() -> None:
    stream = torch.cuda.default_stream()
    assert _C._cuda_getDefaultStream(0) == (stream.stream_id, stream.device_index, stream.device_type)


def test_the_device_is_waited_for_and_its_cache_emptied() -> None:
    torch.ones(1 << 20, device="cuda")
    _C._cuda_synchronize()
    _C._cuda_emptyCache()
    assert _C._cuda_memoryStats(0)["allocated_bytes"]["all"]["peak"] >= 4 << 20
    assert not _C._cuda_isInBadFork()


# members that simulated classes inherit from bases whose own methods use them
INHERITED = {
    "torch.cuda.CUDAGraph.register_generator_state",
    "torch.cuda.Event.event_id",
    "torch.cuda.Event.from_ipc_handle",
    "torch.cuda.Event.ipc_handle",
    "torch.cuda.MemPool.allocator",
    "torch.cuda.MemPool.use_count",
}


@pytest.mark.platforms(*ACCELERATORS)
def test_a_missing_member_is_refused_with_the_reason() -> None:
    backend = active()
    assert backend is not None
    missing = [row for row in backend.table.rows.values() if row.status is Status.MISSING]
    rows = [row for row in missing if row.name not in INHERITED]
    members = [(row, owner) for row in rows if (owner := _owner(row.name)) is not None]
    assert members
    for row, owner in members:
        member = row.name.rpartition(".")[2]
        with pytest.raises(MissingNameError) as refused:
            getattr(owner, member)
        assert str(refused.value) == f"{row.name} does not exist on backend {backend.name!r}: {row.note}"
        assert not hasattr(owner, member)
        assert getattr(owner, member, None) is None


@pytest.mark.platforms("simulated-mlu", "simulated-xpu")
def test_a_class_keeps_what_its_own_methods_use() -> None:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    end.record()
    torch.cuda.synchronize()
    assert start.elapsed_time(end) >= 0


@pytest.mark.platforms(*ACCELERATORS)
def test_objects_refuse_it_too_and_can_be_looked_into() -> None:
    graph: Any = torch.cuda.CUDAGraph(keep_graph=True)
    with pytest.raises(MissingNameError, match="cudaGraph_t"):
        graph.raw_cuda_graph()
    assert "raw_cuda_graph" not in dict(inspect.getmembers(graph))


def _owner(name: str) -> type | None:
    """Returns the class that a name is a member of, or None."""
    owner: Any = torch
    for part in name.split(".")[1:-1]:
        owner = getattr(owner, part, None)
    return owner if isinstance(owner, type) else None

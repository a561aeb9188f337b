"""Simulated Intel GPUs: torch's own torch.xpu over a simulated torch._C, which is installed and removed."""

import ast
import importlib
import pathlib
import pickle
import sys
from multiprocessing.reduction import ForkingPickler
from typing import Any

import pytest
import torch

from morph import software
from morph.backends.tables import surfaces
from tests.platforms import Platform

on_xpu = pytest.mark.parametrize("machine", ["simulated-xpu"], indirect=True)
here = pytest.mark.usefixtures("vendor_worker")
SURFACE = "torch_xpu-2.13.0"


def xpu() -> Any:
    return sys.modules["torch.xpu"]


@on_xpu
@here
def test_every_recorded_name_and_member_is_torchs_own() -> None:
    surface = surfaces.load(SURFACE)
    assert [name for name in sorted(surface.names) if not _has(torch, name.removeprefix("torch."))] == []
    for name, row in surface.classes.items():
        bound = _get(torch, name.removeprefix("torch."))
        members = (member for member, kind in row.members.items() if kind != "attribute")
        assert [member for member in members if not hasattr(bound, member)] == [], name
    assert xpu().__file__.startswith(str(pathlib.Path(torch.__file__).parent))


@on_xpu
@here
def test_every_name_that_torchs_stubs_give_a_build_for_intel_is_there() -> None:
    stubs = ast.parse((pathlib.Path(torch.__file__).parent / "_C" / "__init__.pyi").read_text())
    definitions = [node for node in stubs.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    declared = [node for node in definitions if node.name.lower().startswith("_xpu")]
    assert len(declared) > 30
    assert [node.name for node in declared if not hasattr(torch._C, node.name)] == []
    for node in declared:
        members = (each.name for each in node.body if isinstance(each, ast.FunctionDef))
        assert [name for name in members if not _has(torch._C, f"{node.name}.{name}")] == []


def _get(owner: Any, name: str) -> Any:
    for part in name.split("."):
        owner = getattr(owner, part)
    return owner


def _has(owner: Any, name: str) -> bool:
    try:
        _get(owner, name)
    except AttributeError:
        return False
    return True


@on_xpu
@here
def test_torch_takes_itself_for_one_that_is_built_for_intel() -> None:
    assert torch.version.xpu
    assert xpu()._is_compiled()
    assert xpu().is_available()
    assert xpu().is_tf32_supported()
    assert xpu().get_arch_list()
    assert torch.ones(1, device="xpu").is_xpu
    assert torch.get_device_module("xpu") is importlib.import_module("torch.xpu")


@on_xpu
@here
def test_quirks_of_torch_xpu() -> None:
    assert xpu().get_device_capability()["has_fp64"] is True
    assert xpu().get_device_properties(1).gpu_subslice_count == 64
    with pytest.raises(
        RuntimeError, match="device is out of range, device is 5, total number of device is 2"
    ):
        xpu().get_device_name(5)
    with pytest.raises(TypeError, match="blocking"):
        xpu().Event(blocking=True)
    assert isinstance(xpu().power_draw(), float)
    with pytest.raises(torch.OutOfMemoryError, match="GPU 0 has a total capacity of 64.00 GiB of which"):
        torch.empty(1 << 42, device="xpu")
    with pytest.raises(ValueError, match="invalid fraction:2. Please set within"):
        xpu().set_per_process_memory_fraction(2.0)
    assert set(xpu().memory_stats_as_nested_dict()) == {
        f"{kind}_bytes" for kind in ("active", "allocated", "requested", "reserved")
    }


@on_xpu
@here
def test_streams_and_events_have_sycls_handles() -> None:
    stream = xpu().Stream(priority=-7)
    assert (stream.priority, stream.priority_range()) == (-1, (1, -1))
    assert xpu().get_stream_from_external(stream.sycl_queue) == stream
    outside = xpu().get_stream_from_external(0x7F00_0000_1000)
    assert outside.sycl_queue == outside.stream_id == 0x7F00_0000_1000
    event = xpu().Event()
    assert event.sycl_event == 0
    event.record(stream)
    assert event.sycl_event
    with pytest.raises(RuntimeError, match="enable_timing=True"):
        event.elapsed_time(event)


@on_xpu
@here
def test_pools_keep_their_memory_apart() -> None:
    pool = xpu().MemPool()
    with xpu().use_mem_pool(pool):
        kept = torch.ones(4, device="xpu")
        assert pool.use_count() == 2
    (segment,) = pool.snapshot()
    assert (segment["segment_pool_id"], pool.use_count()) == (pool.id, 1)
    assert segment["address"] == kept.data_ptr()
    with pytest.raises(software.NotSimulatedError, match="MemPool"):
        xpu().MemPool(torch._C._xpu_customAllocator(1, 2))


@on_xpu
@here
def test_a_graph_runs_again_what_it_captured() -> None:
    graph, source = xpu().XPUGraph(keep_graph=True), torch.ones(2, device="xpu")
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()
    with xpu().graph(graph):
        assert xpu().is_current_stream_capturing()
        result = source * 2
    graph.instantiate()
    source.fill_(3)
    graph.replay()
    assert result.tolist() == [6, 6]
    with pytest.raises(RuntimeError, match="already owns a captured graph"):
        graph.capture_begin()
    with pytest.warns(UserWarning, match="The XPU Graph is empty"), xpu().graph(xpu().XPUGraph()):
        pass


@on_xpu
@here
def test_memory_is_not_shared_with_other_processes_as_on_the_real_device() -> None:
    with pytest.raises(RuntimeError, match="only available on CPU"):
        ForkingPickler.dumps(torch.ones(1, device="xpu"))
    assert pickle.loads(pickle.dumps(torch.ones(1, device="xpu:1"))).device.index == 1


UNDOING = """
import sys, torch, morph

def look():
    names = {name: id(value) for name, value in vars(torch._C).items()}
    modules = {name: id(module) for name, module in sys.modules.items() if name.startswith("torch.xpu")}
    return names, modules, id(torch.xpu), dict(vars(torch.version)), vars(torch.xpu).copy()

before = look()
assert not torch.xpu.is_available()
morph.activate("xpu", simulated=True)
module, tensor = torch.xpu, torch.ones(2, device="cuda")
assert torch.cuda.memory_allocated() == 512
morph.deactivate()
assert look() == before
assert not torch.xpu.is_available()
morph.activate("xpu", simulated=True)
assert torch.xpu is module and torch.xpu.is_initialized()
assert (tensor + torch.ones(2, device="cuda")).tolist() == [2, 2]
morph.deactivate()
assert look() == before
print("undone")
"""


@pytest.mark.platforms("cpu")
def test_torch_gets_its_own_back(platform: Platform) -> None:
    assert platform.run(UNDOING, morph=False).stdout == "undone\n"

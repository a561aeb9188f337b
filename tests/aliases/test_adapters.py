"""Adapters that several vendors share call functions with the recorded parameters."""

import functools
import pathlib
import pickle
import warnings
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from morph.aliases.adapters import debugging, graphs, memory, snapshots
from morph.aliases.adapters.mlu import precision as mlu
from morph.aliases.adapters.musa import precision as musa
from morph.aliases.adapters.properties import DeviceProperties
from morph.backends.tables import table
from morph.base.errors import MissingNameError
from tests.aliases.recorded import Recorded, properties

SEGMENTS = [{"segment_pool_id": (0, 0), "address": 1}, {"segment_pool_id": (0, 7), "address": 2}]
both = pytest.mark.parametrize("vendor", ["mlu", "musa"], indirect=True)


@pytest.mark.parametrize(
    ("name", "mode"), [("torch.mlu.MLUGraph", "relaxed"), ("torch.musa.MUSAGraph", "global")]
)
def test_a_capture_in_cudas_default_mode_is_in_the_vendors(name: str, mode: str) -> None:
    begin = Recorded(f"{name}.capture_begin")
    graphs.capture_begin(begin, "graph", (0, 1))
    graphs.capture_begin(begin, "graph", capture_error_mode="thread_local")
    assert begin.calls == [
        {"self": "graph", "pool": (0, 1), "capture_error_mode": mode},
        {"self": "graph", "pool": None, "capture_error_mode": "thread_local"},
    ]


@pytest.mark.parametrize("backend", ["mlu", "musa"])
def test_a_snapshot_of_a_pool_has_its_segments_only(backend: str) -> None:
    target = Recorded(f"torch.{backend}.memory_snapshot", SEGMENTS)
    assert snapshots.memory_snapshot(target) == SEGMENTS
    assert snapshots.memory_snapshot(target, (0, 7), include_traces=False) == SEGMENTS[1:]


def test_a_snapshot_can_be_augmented_and_written(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = Recorded("torch.mlu.memory._snapshot", {"segments": [], "device_traces": []})

    def snapshot(device: Any = None, augment_with_fx_traces: bool = False) -> Any:
        return snapshots.snapshot(target, device, augment_with_fx_traces)

    monkeypatch.setattr(torch.cuda.memory, "_snapshot", snapshot)
    snapshots.dump_snapshot(str(tmp_path / "file"), augment_with_fx_traces=True)
    assert pickle.loads((tmp_path / "file").read_bytes()) == {"segments": [], "device_traces": []}


def test_the_memory_fraction_is_remembered() -> None:
    setter = Recorded("torch.musa.set_per_process_memory_fraction")
    assert memory.get_per_process_memory_fraction(5) == 1.0
    memory.set_per_process_memory_fraction(setter, 0.5, 5)
    assert setter.calls == [{"fraction": 0.5, "device": 5}]
    assert memory.get_per_process_memory_fraction(5) == 0.5


def test_the_allocator_is_afterwards_as_it_was_before(monkeypatch: pytest.MonkeyPatch) -> None:
    target = Recorded("torch.mlu.caching_allocator_enable")
    enable = functools.partial(memory.caching_allocator_enable, target)
    monkeypatch.setattr(torch.cuda, "caching_allocator_enable", enable)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    with memory.caching_allocator_disabled():
        with pytest.raises(KeyError), memory.caching_allocator_disabled():
            raise KeyError
        assert not any(call["value"] for call in target.calls)
    assert target.calls[-1] == {"value": True}


@pytest.mark.usefixtures("flags")
@pytest.mark.parametrize(("backend", "library", "precision"), [("mlu", "cnnl", mlu), ("musa", "mudnn", musa)])
def test_tf32_is_switched_apart_for_products_and_convolutions(
    monkeypatch: pytest.MonkeyPatch, backend: str, library: str, precision: ModuleType
) -> None:
    own, products = SimpleNamespace(allow_tf32=True), SimpleNamespace(allow_tf32=False)
    monkeypatch.setattr(torch.backends, library, own, raising=False)
    monkeypatch.setattr(torch.backends, backend, SimpleNamespace(matmul=products), raising=False)
    if backend == "mlu":  # whose package puts a warning in the place of torch's setter
        monkeypatch.setattr(torch._C, "_set_cublas_allow_tf32", warn)
    matmul = precision.switches.matmul
    assert not matmul.allow_tf32  # the vendors' default, and CUDA's
    for value in (True, False):
        matmul.allow_tf32 = value
        assert (products.allow_tf32, matmul.allow_tf32, own.allow_tf32) == (value, value, True)
        assert torch.get_float32_matmul_precision() == ("high" if value else "highest")
    with precision.switches.flags(allow_tf32=False):
        assert not own.allow_tf32
    assert own.allow_tf32
    precision.switches.convolution.fp32_precision = "ieee"
    assert not own.allow_tf32


def warn(value: bool) -> None:
    warnings.warn("no effect", stacklevel=2)


@both
@pytest.mark.filterwarnings("default")
def test_a_report_on_waits_is_announced_as_absent(vendor: SimpleNamespace) -> None:
    with pytest.warns(UserWarning, match=r"torch\.\w+ does not report operations that wait"):
        debugging.set_sync_debug_mode("warn")
    assert debugging.get_sync_debug_mode() == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        debugging.set_sync_debug_mode(0)


@both
def test_properties_have_cudas_fields_beside_the_vendors(
    vendor: SimpleNamespace, request: pytest.FixtureRequest
) -> None:
    seen = DeviceProperties(properties(request.node.callspec.params["vendor"]), (8, 0), 1)
    assert (seen.major, seen.minor, seen.name, seen.total_memory) == (8, 0, "name", "total_memory")
    assert (seen.warp_size, seen.max_threads_per_multi_processor) == (32, 2048)
    assert {"major", "name", "uuid", "warp_size"} <= set(dir(seen))
    with pytest.raises(MissingNameError, match="L2_cache_size does not exist on backend"):
        assert seen.L2_cache_size


@both
def test_a_made_up_uuid_follows_the_mask(
    vendor: SimpleNamespace, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = request.node.callspec.params["vendor"]
    whole = [DeviceProperties(properties(backend), (8, 0), index).uuid for index in range(4)]
    assert len(set(whole)) == 4
    monkeypatch.setenv(table.load(backend).facts.visible_devices, "2, 3")
    assert [DeviceProperties(properties(backend), (8, 0), index).uuid for index in range(2)] == whole[2:]

"""Set operations over names: every CUDA name has one status on every backend, and every row a reason."""

from typing import Any

import pytest

from morph.backends.tables import surfaces
from morph.backends.tables.table import Row, Status, Table
from tests.aliases import signatures
from tests.aliases.names import CUDA, ROOT, TABLES, exists, home, place, resolved

NAMES = sorted(name for name in CUDA.names - CUDA.modules if name.startswith(f"{ROOT}."))
COVERING = (Status.MISSING, Status.SAME, Status.NOOP)
OTHER_WORDS = {
    "torch.mlu.ExternalStream": {"torch.cuda.get_stream_from_external"},
    "torch.musa.ExternalStream": {"torch.cuda.get_stream_from_external"},
    "torch.npu.ExternalStream": {"torch.cuda.get_stream_from_external"},
    "torch.backends.mlu.cnfft_plan_cache": {"torch.backends.cuda.cufft_plan_cache"},
    "torch.mlu.CnrtError": {"torch.cuda.CudaError"},
    "torch.mlu.cnrt": {"torch.cuda.cudart"},
    "torch_mlu._MLUC": {"torch.cuda.use_mem_pool", "torch.cuda.memory.use_mem_pool"},
    "torch_mlu._MLUC._mlu_getAllocatorBackend": {
        "torch.cuda.get_allocator_backend",
        "torch.cuda.memory.get_allocator_backend",
    },
    "torch.musa.core._utils._get_musa_device_index": {
        "torch.cuda._get_device_index",
        "torch.cuda._utils._get_device_index",
        "torch.cuda.memory._get_device_index",
    },
    "torch.accelerator.get_memory_info": {"torch.cuda.mem_get_info", "torch.cuda.memory.mem_get_info"},
    "torch_tpu._internal.stream.streams.TpuEvent.event_id": {"torch.cuda.Event.cuda_event"},
    "torch_tpu._internal.stream.streams.TpuStream.stream_id": {"torch.cuda.Stream.cuda_stream"},
    "torch.tpu._lazy_init": {"torch.cuda.init"},
    "torch.xpu.Event.sycl_event": {"torch.cuda.Event.cuda_event"},
    "torch.xpu.Stream.sycl_queue": {"torch.cuda.Stream.cuda_stream"},
}
"""Targets whose last part is not CUDA's, even with the vendor's name for CUDA's, and what they serve."""

_FIGURES = {
    f"torch.cuda{module}.{name}"
    for module in ("", ".memory")
    for name in (
        *("max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved"),
        *("memory_stats", "reset_accumulated_memory_stats", "reset_peak_memory_stats"),
    )
}
_SENSORS = {f"torch.cuda.{name}" for name in ("clock_rate", "memory_usage", "temperature", "utilization")}
OTHER_ADAPTERS = {
    "initialise_graph": {"torch.cuda.CUDAGraph.__init__"},
    "new_graph": {"torch.cuda.CUDAGraph.__new__"},
    "new_event": {"torch.cuda.Event.__new__"},
    "initialise_allocator": {"torch.cuda.CUDAPluggableAllocator.__init__"},
    "initialise_pool": {"torch.cuda.MemPool.__init__"},
    "snapshot_of_pool": {"torch.cuda.MemPool.snapshot"},
    "enter_stream_context": {"torch.cuda.StreamContext.__init__"},
    "stream_of": {"torch.cuda.current_stream", "torch.cuda.default_stream"},
    "annotate": {f"torch.cuda.nvtx.{name}" for name in ("mark", "range_push", "range_start")},
    "figure": _FIGURES,
    "rounded": _SENSORS,
    "can_use_fused_attention": {
        "torch.backends.cuda.can_use_efficient_attention",
        "torch.backends.cuda.can_use_flash_attention",
    },
    "current_raw_stream": {"torch._C._cuda_getCurrentRawStream"},
    "current_stream": {"torch._C._cuda_getCurrentStream"},
    "default_stream": {"torch._C._cuda_getDefaultStream"},
    "exchange_device": {"torch._C._cuda_maybeExchangeDevice"},
    "cudnn_is_available": {"torch.backends.cudnn.is_available"},
    "cudnn_version": {"torch.backends.cudnn.version"},
    "is_built": {"torch.cuda._is_compiled"},
    "plan_caches": {"torch.backends.cuda.cufft_plan_cache"},
    "switches.convolution": {"torch.backends.cudnn.conv"},
    "TOOLKIT_VERSION": {"torch.version.cuda"},
}
"""What serves several names, or has a name of its own, and the names that it may serve."""

every_table = pytest.mark.parametrize("backend", TABLES, ids=lambda backend: backend.facts.name)


@every_table
def test_every_cuda_name_has_a_status(backend: Table) -> None:
    assert [name for name in NAMES if _target(backend, name) is None] == []


@every_table
def test_torchs_own_answers_where_no_row_serves_a_flag(backend: Table) -> None:
    flags = [name for name in CUDA.functions if name.startswith("torch.backends.") and not backend.row(name)]
    asked = [name for name in flags if _is_a_question(name) and not backend.facts.native_cuda]
    assert [name for name in asked if not _answers(name)] == []


@every_table
def test_targets_exist_at_the_vendor(backend: Table) -> None:
    targets = {row.target for row in backend.rows.values() if row.target and row.status is not Status.SAME}
    assert sorted(target for target in targets if not exists(backend, target)) == []


@every_table
def test_targets_are_called_what_cuda_calls_them(backend: Table) -> None:
    """No row names a different function that the vendor has as well."""
    rows = [row for row in backend.rows.values() if row.status in (Status.RENAMED, Status.ADAPTED)]
    others = [row for row in rows if _said(row.name, backend) != _said(str(row.target), backend)]
    targets = {row.name: str(row.target) for row in others}
    assert {name: to for name, to in targets.items() if name not in OTHER_WORDS.get(to, set())} == {}


@every_table
def test_adapters_are_called_what_cuda_calls_them(backend: Table) -> None:
    """No row names a different adapter that accepts the same calls."""
    adapters = {row.name: row.adapter.partition(":")[2] for row in backend.rows.values() if row.adapter}
    others = {
        name: adapter
        for name, adapter in adapters.items()
        if _said(adapter, backend, "_") != _said(name, backend, "_")
    }
    assert {name: to for name, to in others.items() if name not in OTHER_ADAPTERS.get(to, set())} == {}


def _said(name: str, backend: Table, *dropped: str) -> str:
    """Return a name's last part without `cuda` and the vendor's name; a constructor's includes its class."""
    *_, owner, last = ["", *name.split(".")]
    said = f"{owner}.{last}" if last.startswith("__") else last
    for word in ("cuda", backend.facts.name, *dropped):
        said = said.lower().replace(word, "")
    return said


@every_table
def test_no_row_is_needless(backend: Table) -> None:
    renames = [row for row in _open_rows(backend) if row.status is Status.RENAMED]
    assert [row.name for row in renames if row.target == place(backend, row.name)] == []


@every_table
def test_no_gap_has_closed(backend: Table) -> None:
    gaps = [row for row in _open_rows(backend) if row.status in (Status.MISSING, Status.RENAMED)]
    closed = [
        row.name for row in gaps if row.name.startswith(f"{ROOT}.") and _has_counterpart(backend, row.name)
    ]
    assert closed == []


def _has_counterpart(backend: Table, name: str) -> bool:
    """Returns whether the vendor has a name at the same place; its function stands for no class of CUDA's."""
    own = home(backend, name)
    is_class = name in CUDA.classes and own in surfaces.load(backend.facts.surface).functions
    return exists(backend, own) and not is_class


@every_table
def test_what_is_forwarded_takes_the_calls_that_cuda_takes(backend: Table) -> None:
    forwarded = {name: _target(backend, name) for name in NAMES if _is_forwarded(backend, name)}
    targets = {
        name: target for name, target in forwarded.items() if target and not _is_built_by(backend, name)
    }
    refusals = {name: _refusal(backend, name, target) for name, target in targets.items()}
    assert {name: refusal for name, refusal in refusals.items() if refusal} == {}


@every_table
def test_classes_that_are_forwarded_have_the_members_that_cuda_has(backend: Table) -> None:
    absent = []
    for name in NAMES:
        target = _target(backend, name)
        if name in CUDA.classes and _is_forwarded(backend, name) and target:
            own = CUDA.classes[name].home
            members = [f"{own}.{member}" for member in CUDA.classes[name].members]
            absent += [each for each in members if not _has_member(backend, each, target)]
    assert absent == []


@every_table
def test_adapters_import_without_the_vendor(backend: Table) -> None:
    assert [row.name for row in backend.rows.values() if row.adapter and _adapter(row) is None] == []


@every_table
def test_adapters_take_the_calls_that_cuda_takes(backend: Table) -> None:
    refusals = {}
    for row in backend.rows.values():
        text = CUDA.signature(row.name)
        if row.adapter and text and callable(_adapter(row)):
            own = signatures.of(_adapter(row), skip=1 if row.target else 0)
            refusals[row.name] = signatures.refuses(own, signatures.parse(text))
    assert {name: refusal for name, refusal in refusals.items() if refusal} == {}


@every_table
def test_every_row_gives_a_reason(backend: Table) -> None:
    silent = [row for row in backend.rows.values() if not row.note and row.status is not Status.RENAMED]
    assert [row.name for row in silent] == []


def _target(backend: Table, name: str) -> str | None:
    """Returns the target that serves a name: "" for a row that is not a rename, None if nothing serves it."""
    row = backend.row(name)
    if row is not None:
        return row.target if row.status is Status.RENAMED else ""
    return place(backend, name) if _vendor_has(backend, name) else None


def _open_rows(backend: Table) -> list[Row]:
    """Returns the rows that no row of a module covers: without them, the vendor would serve their names."""
    modules = (row.name.rpartition(".")[0] for row in backend.rows.values())
    covers = {module: backend.row(module) for module in modules}
    covering = {module for module, row in covers.items() if row and row.status in COVERING}
    return [row for row in backend.rows.values() if row.name.rpartition(".")[0] not in covering]


def _is_forwarded(backend: Table, name: str) -> bool:
    row = backend.row(name)
    return row is None or row.status is Status.RENAMED


def _is_built_by(backend: Table, name: str) -> bool:
    """Returns whether morph provides the class's constructor."""
    own = CUDA.classes[name].home if name in CUDA.classes else name
    return any(f"{own}.{member}" in backend.rows for member in ("__init__", "__new__"))


def _vendor_has(backend: Table, name: str) -> bool:
    return name.startswith(f"{ROOT}.") and exists(backend, place(backend, name))


def _is_a_question(name: str) -> bool:
    parameters = signatures.parse(CUDA.signature(name) or "(unknown)")
    return all(each.default is None for each in parameters.parameters.values())


def _answers(name: str) -> bool:
    try:
        resolved(name)()
    except AttributeError:  # of torch._C, in a build without CUDA
        return False
    return True


def _has_member(backend: Table, member: str, target: str) -> bool:
    own = member in backend.rows
    return own or exists(backend, f"{target}.{member.rpartition('.')[2]}")


def _adapter(row: Row) -> Any:
    return resolved(row.adapter.replace(":", "."))


def _refusal(backend: Table, name: str, target: str) -> str:
    cuda, vendor = CUDA.signature(name), signatures.of_target(backend, target)
    return signatures.refuses(vendor, signatures.parse(cuda)) if cuda and vendor else ""

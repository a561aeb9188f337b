"""Moore Threads' behaviour that the surface of torch_musa does not record."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, ClassVar

import torch
import torch.distributed
from torch.backends import PropModule, __allow_nonbracketed_mutation

from morph.base.status import Status
from morph.software import devices, graphs, memory, runtime_functions, visible
from morph.software.devices import AnyDevice
from morph.software.machine import Machine, namespace, started
from morph.software.vendors import events, kept_graphs, sync_debug_mode
from morph.software.vendors.mlu_backends import flag
from morph.software.vendors.quirks import Quirks

MCCL_VERSION = 2, 11, 4
MUDNN_VERSION = 3000
CUDA_IN_FILES = 1  # the place of CUDA in torch's registry of what files name
BFLOAT16_SINCE = 2, 2  # the generation, as torch_musa has it

_mudnn = {"allow_tf32": True}
_mublas = {"allow_tf32": False}


class _MusaDeviceProperties(devices.DeviceProperties):
    """The device properties that torch_musa reports."""

    name = "MTT S5000"
    major, minor = 3, 1
    gcnArchName = name
    is_multi_gpu_board = is_integrated = 0
    multi_processor_count = 60
    max_threads_per_multi_processor = max_threads_per_block = 1024
    warp_size = 32
    shared_memory_per_block = shared_memory_per_multiprocessor = shared_memory_per_block_optin = 196608
    regs_per_multiprocessor = 131072
    clock_rate, memory_clock_rate, memory_bus_width = 1750000, 2000000, 4096
    L2_cache_size = 1 << 26
    pci_domain_id = pci_bus_id = pci_device_id = 0
    uuid: Any = None


def values(machine: Machine) -> dict[str, Any]:
    """Return the values whose names differ from the other vendors'."""
    return {"_get_musa_device_index": devices._get_device_index, "MUSAGraph": MUSAGraph, "has_half": True}


def get_device_properties(device: AnyDevice = None) -> _MusaDeviceProperties:
    """Return a device's properties, with those that tell it from others."""
    machine = started()
    number = machine.visible.indices()[devices.valid_index(device)]
    identity = visible.identity(machine.facts.name, number)
    return _MusaDeviceProperties(machine.memory, uuid=identity, pci_bus_id=number)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return whether tensors may be of bfloat16."""
    return bool(namespace().get_device_capability() >= BFLOAT16_SINCE)


def is_tf32_supported() -> bool:
    """Return whether products may be of TF32."""
    return is_bf16_supported(including_emulation=False)


def get_arch_list() -> list[str]:
    """Return the generations that the package has code for."""
    return ["21", "22", "31"]


def get_gencode_flags() -> str:
    """Return the compiler's flags for these generations."""
    return " ".join(f"--offload-arch=mp_{each}" for each in get_arch_list())


class DeferredMusaCallError(Exception):
    """A call that waited for the device failed."""


class MUSAGraph(kept_graphs.Graph):
    """A graph that torch_musa finds again when it profiles."""

    _graph_instances: ClassVar[weakref.WeakSet[MUSAGraph]] = weakref.WeakSet()

    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__(keep_graph)
        self._graph_instances.add(self)

    def reinstantiate_graph(self) -> None:
        """Do nothing: a replay is always of the same work."""

    @classmethod
    def get_latest_instance(cls) -> list[MUSAGraph]:
        """Return all graphs that there are."""
        return list(cls._graph_instances)


class graph(graphs.graph):
    """torch_musa's context."""

    def __init__(
        self, musa_graph: Any, pool: Any = None, stream: Any = None, capture_error_mode: str = "global"
    ) -> None:
        super().__init__(musa_graph, pool, stream, capture_error_mode)


def get_stream_from_external(data_ptr: int, device: AnyDevice = None) -> Any:
    """Return the stream of a handle that was made elsewhere."""
    return namespace().ExternalStream(data_ptr, device)


def memory_stats_as_nested_dict(device: AnyDevice = None) -> dict[str, Any]:
    """Return the allocator's figures, nested by kind, pool and figure; none before the device is used."""
    return memory.memory_stats_as_nested_dict(device) if devices.is_initialized() else {}


@contextmanager
def fork_rng(
    devices: Any = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "musa",
) -> Iterator[None]:
    """Leave randomness as it was after a ``with`` block; torch_musa puts this in place of torch's."""
    with _torchs_fork_rng(devices, enabled, _caller, _devices_kw, device_type):
        yield


_torchs_fork_rng: Any = torch.random.fork_rng


def musart() -> ModuleType:
    """Return the functions of the runtime that torch_musa binds."""
    return sys.modules["torch_musa._MUSAC._musart"]


class MusaError(RuntimeError):
    """A call of the runtime did not succeed."""

    def __init__(self, code: int) -> None:
        super().__init__(f"{runtime_functions.error_string(code)} ({int(code)})")


def check_error(res: int) -> None:
    """Raise if a call of the runtime did not succeed."""
    if res != Status.success:
        raise MusaError(res)


def version() -> tuple[int, int, int]:
    """Return the version of MCCL."""
    return MCCL_VERSION


def mudnn_version() -> int:
    """Return the version of muDNN."""
    return MUDNN_VERSION


def set_flags(_allow_tf32: bool) -> tuple[bool]:
    """Set muDNN's one flag and return its former value."""
    before = _mudnn["allow_tf32"]
    _mudnn["allow_tf32"] = _allow_tf32
    return (before,)


@contextmanager
def flags(allow_tf32: bool = True) -> Iterator[None]:
    """Set muDNN's one flag for the length of a ``with`` block."""
    with __allow_nonbracketed_mutation():
        before = set_flags(allow_tf32)
    try:
        yield
    finally:
        with __allow_nonbracketed_mutation():
            set_flags(*before)


class MudnnModule(PropModule):
    """``torch.backends.mudnn``, a module with one flag."""

    allow_tf32 = flag(lambda: _mudnn["allow_tf32"], lambda value: _mudnn.update(allow_tf32=value))


class muBLASModule:
    """``torch.backends.musa.matmul``, which has one flag."""

    def __getattr__(self, name: str) -> bool:
        _check_flag(name)
        return _mublas["allow_tf32"]

    def __setattr__(self, name: str, value: bool) -> None:
        _check_flag(name)
        _mublas["allow_tf32"] = value


def _check_flag(name: str) -> None:
    if name != "allow_tf32":
        raise AttributeError(f"Unknown attribute {name}")


def musaProfilerStart() -> Status:
    """Start an attached profiler."""
    return Status.success


def musaProfilerStop() -> Status:
    """Stop an attached profiler."""
    return Status.success


def _refuse_cuda(storage: Any, location: str) -> None:
    if location.startswith("cuda"):
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False."
        )


def _patch(modules: Mapping[str, ModuleType]) -> None:
    """Change what importing torch_musa changes in torch."""
    own: Any = modules["torch.musa"]
    torch.cuda._lazy_init = own._lazy_init
    torch.cuda._lazy_call = own._lazy_call
    torch.random.fork_rng = fork_rng
    is_own = property(lambda storage: storage.device.type == started().device_type)
    torch.UntypedStorage.is_musa = torch.UntypedStorage.is_cuda = is_own  # type: ignore[assignment,attr-defined]
    registry = torch.serialization._package_registry
    priority, tag, _ = registry[CUDA_IN_FILES]
    registry[CUDA_IN_FILES] = priority, tag, _refuse_cuda
    torch.version.musa = "40300"  # type: ignore[attr-defined]
    torch.distributed.is_mccl_available = lambda: True  # type: ignore[attr-defined]


QUIRKS = Quirks(
    title="MUSA",
    properties=_MusaDeviceProperties,
    names={
        **runtime_functions.functions("musa"),
        "torch.backends.mudnn.version": mudnn_version,
        "torch.backends.mudnn.allow_tf32": True,
        "AcceleratorError": getattr(torch, "AcceleratorError", None),  # torch 2.8
        "matmul": muBLASModule(),
    },
    homes={
        "torch.musa": "torch_musa",
        "torch.backends.mudnn": "torch_musa.core.mudnn",
        "torch.backends.musa": "torch_musa.core.musa",
    },
    flags={"torch.backends.mudnn": MudnnModule},
    late=frozenset({"torch.musa.default_generators", "torch.musa.has_half"}),
    parts=(events, sync_debug_mode),
    patch=_patch,
)

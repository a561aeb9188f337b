"""Ascend's behaviour that the surface of torch_npu does not record."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from typing_extensions import deprecated

from morph.software import devices, graphs, runtime_functions, streams
from morph.software.devices import AnyDevice
from morph.software.vendors import amp, sync_debug_mode
from morph.software.vendors.quirks import Quirks

MIB = 1 << 20
RUNTIME = "npuHostRegister", "npuHostUnregister", "npuStreamCreate", "npuStreamDestroy"
CUDA_FIELDS = (
    "major",
    "minor",
    "gcnArchName",
    "is_integrated",
    "is_multi_gpu_board",
    "max_threads_per_multi_processor",
    "regs_per_multiprocessor",
    "warp_size",
)


class DeviceProperties(devices.DeviceProperties):
    """The device properties that torch_npu reports; CUDA's other fields exist and are None."""

    def __init__(self, total_memory: int) -> None:
        super().__init__(total_memory, name="Ascend910B1", **dict.fromkeys(CUDA_FIELDS))
        self.cube_core_num = 24
        self.vector_core_num = self.multi_processor_count = 48
        self.L2_cache_size = 192 * MIB
        self.uuid = uuid.uuid5(uuid.NAMESPACE_OID, self.name)

    def __repr__(self) -> str:
        memory, cache = self.total_memory // MIB, self.L2_cache_size // MIB
        cores = f"cube_core_num={self.cube_core_num}, vector_core_num={self.vector_core_num}"
        figures = f"total_memory={memory}MB, {cores}, uuid={self.uuid}, L2_cache_size={cache}MB"
        return f"_NPUDeviceProperties(name='{self.name}', {figures})"


def get_device_capability(device: AnyDevice = None) -> None:
    """Return None: a compute capability is CUDA's."""
    devices.valid_index(device)


class Stream(streams.Stream):
    """A queue of work on one device, whose priority torch_npu cannot report."""

    @property
    def priority(self) -> int:
        """Always refused."""
        raise RuntimeError(
            "NPU dose not support Stream.get_priority() currently."
        )  # torch_npu's own spelling

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """Always refused."""
        raise RuntimeError("NPU does not support Stream.priority_range() currently.")


class Event(streams.Event):
    """A mark in a stream, which measures time whether it was asked to or not."""

    _always_timed = True


class StreamContext(streams.StreamContext):
    """torch_npu's context, whose parameter has another name than CUDA's."""

    def __init__(self, stream_ctx: torch.Stream | None) -> None:
        super().__init__(stream_ctx)


class graph(graphs.graph):
    """torch_npu's context, which has one more positional parameter than CUDA's."""

    def __init__(
        self,
        npu_graph: Any,
        pool: Any = None,
        stream: Any = None,
        auto_dispatch_capture: bool = False,
        capture_error_mode: str = "global",
    ) -> None:
        super().__init__(npu_graph, pool, stream, capture_error_mode)


class GradScaler(amp.GradScaler):
    """torch_npu's scaler, which has one more positional parameter than CUDA's."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        dynamic: bool = True,
        enabled: bool = True,
    ) -> None:
        super().__init__(init_scale, growth_factor, backoff_factor, growth_interval, enabled)


@deprecated("Please use `torch.amp.custom_fwd(args..., device_type='npu')` instead.", category=FutureWarning)
def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: torch.dtype | None = None) -> Any:
    """``torch.amp.custom_fwd`` of this device type."""
    return amp.custom_fwd(fwd, cast_inputs=cast_inputs)


@deprecated("Please use `torch.amp.custom_bwd(args..., device_type='npu')` instead.", category=FutureWarning)
def custom_bwd(bwd: Callable[..., Any]) -> Any:
    """``torch.amp.custom_bwd`` of this device type."""
    return amp.custom_bwd(bwd)


class Precision:
    """``torch.npu.matmul`` and ``torch.npu.conv``: whether they may round to HF32."""

    def __init__(self, allow_hf32: bool) -> None:
        self.allow_hf32 = allow_hf32


class Configuration:
    """``torch.npu.config``, whose only setting can be set and not be read."""

    def _set_allow_internal_format(self, allowed: bool) -> None:
        """Choose the layout of weights in memory; it has no effect here."""

    allow_internal_format = property(None, _set_allow_internal_format)


class mstx:
    """Marks and ranges for Ascend's profiler, which nobody reads here."""

    _last = 0

    @staticmethod
    def mark(message: str, stream: Any = None, domain: str = "default") -> None:
        """Mark a moment."""

    @staticmethod
    def range_push(message: str, stream: Any = None, domain: str = "default") -> int:
        """Begin a nested range."""
        return 0

    @staticmethod
    def range_pop(domain: str = "default") -> int:
        """End the innermost range."""
        return 0

    @staticmethod
    def range_start(message: str, stream: Any = None, domain: str = "default") -> int:
        """Begin a range and return its number."""
        mstx._last += 1
        return mstx._last

    @staticmethod
    def range_end(range_id: int, domain: str = "default") -> None:
        """End a range."""

    @staticmethod
    def mstx_range(message: str, stream: Any = None, domain: str = "default") -> Callable[[Any], Any]:
        """Return a decorator that makes a range of a call."""
        return lambda function: function


def set_compile_mode(jit_compile: bool = False) -> None:
    """Choose between compiled and prepared operators; it has no effect here."""


def get_cann_version(module: str = "CANN") -> str:
    """Return the version of a module of CANN."""
    return "8.5.0"


def npurt() -> SimpleNamespace:
    """Return the functions of the runtime that torch_npu binds."""
    functions = runtime_functions.functions("npu").items()
    return SimpleNamespace(**{name: each for name, each in functions if name in RUNTIME})


QUIRKS = Quirks(
    title="NPU",
    properties=DeviceProperties,
    padding=32,
    channels_last=False,
    float64=False,
    amp_dtypes=("float16", "bfloat16", "float32"),
    names={
        "matmul": Precision(allow_hf32=False),
        "conv": Precision(allow_hf32=True),
        "config": Configuration(),
    },
    parts=(sync_debug_mode,),
)

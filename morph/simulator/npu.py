"""Ascend's own behaviour, where the surface of torch_npu does not tell it."""

from __future__ import annotations

import enum
import uuid
from collections.abc import Callable
from typing import Any

import torch

from morph.simulator import amp, devices, distributed, generators, streams
from morph.simulator.devices import AnyDevice
from morph.simulator.machine import Character, started

SOC_VERSION = 220  # Ascend910B1, as torch_npu numbers the chips
MIB = 1 << 20
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
    """What torch_npu tells of a device: CUDA's fields are there and hold None."""

    def __init__(self, total_memory: int) -> None:
        super().__init__(**dict.fromkeys(CUDA_FIELDS), total_memory=total_memory)
        self.name = "Ascend910B1"
        self.cube_core_num = 24
        self.vector_core_num = self.multi_processor_count = 48
        self.L2_cache_size = 192 * MIB
        self.uuid = uuid.uuid5(uuid.NAMESPACE_OID, self.name)

    def __repr__(self) -> str:
        memory, cache = self.total_memory // MIB, self.L2_cache_size // MIB
        cores = f"cube_core_num={self.cube_core_num}, vector_core_num={self.vector_core_num}"
        figures = f"total_memory={memory}MB, {cores}, uuid={self.uuid}, L2_cache_size={cache}MB"
        return f"_NPUDeviceProperties(name='{self.name}', {figures})"


def get_device_properties(device_name: AnyDevice = None) -> DeviceProperties:
    """Returns what a device is like; the parameter has another name than CUDA's."""
    devices.valid_index(device_name)
    return DeviceProperties(started().memory)


def get_device_name(device_name: AnyDevice = None) -> str:
    """Returns what a device calls itself; the parameter has another name than CUDA's."""
    return get_device_properties(device_name).name


def can_device_access_peer(device_id: AnyDevice, peer_device_id: AnyDevice) -> bool:
    """Tells whether one device can read another's memory."""
    return devices.can_device_access_peer(device_id, peer_device_id)


def is_bf16_supported(including_emulation: bool = False) -> bool:
    """Tells whether autocast may use bfloat16."""
    return True


def get_rng_state(device: AnyDevice = "npu") -> torch.Tensor:
    """Returns the state of a device's generator: 16 bytes, seed and offset."""
    return generators.get_rng_state(device)


def set_rng_state(new_state: torch.Tensor, device: AnyDevice = "npu") -> None:
    """Sets the state of a device's generator."""
    generators.set_rng_state(new_state, device)


def _get_rng_state_offset(device: AnyDevice = "npu") -> int:
    return generators._get_rng_state_offset(device)


def _set_rng_state_offset(offset: int, device: AnyDevice = "npu") -> None:
    generators._set_rng_state_offset(offset, device)


class Stream(streams.Stream):
    """A queue of work on one device, whose priority torch_npu cannot tell."""

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


class SyncLaunchStream(Stream):
    """A queue that bypasses torch_npu's task queue, which makes no difference here."""


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


class CubeMathType(enum.IntEnum):
    """How the matrix unit may round."""

    KEEP_DTYPE = 0
    ALLOW_FP32_DOWN_PRECISION = 1
    USE_FP16 = 2
    USE_HF32 = 3
    FORCE_GRP_ACC_FOR_FP32 = 4
    USE_FP32_ADD = 4


class Precision:
    """``torch.npu.matmul`` and ``torch.npu.conv``: whether they may round to HF32."""

    def __init__(self, allow_hf32: bool) -> None:
        self.allow_hf32 = allow_hf32


class Configuration:
    """``torch.npu.config``, whose only setting can be set and not be read."""

    def _set_allow_internal_format(self, allowed: bool) -> None:
        """Chooses the layout of weights in memory, which makes no difference here."""

    allow_internal_format = property(None, _set_allow_internal_format)


class mstx:
    """Marks and ranges for Ascend's profiler, which nobody reads here."""

    _last = 0

    @staticmethod
    def mark(message: str, stream: Any = None, domain: str = "default") -> None:
        """Marks a moment."""

    @staticmethod
    def range_push(message: str, stream: Any = None, domain: str = "default") -> int:
        """Begins a nested range."""
        return 0

    @staticmethod
    def range_pop(domain: str = "default") -> int:
        """Ends the innermost range."""
        return 0

    @staticmethod
    def range_start(message: str, stream: Any = None, domain: str = "default") -> int:
        """Begins a range and returns its number."""
        mstx._last += 1
        return mstx._last

    @staticmethod
    def range_end(range_id: int, domain: str = "default") -> None:
        """Ends a range."""

    @staticmethod
    def mstx_range(message: str, stream: Any = None, domain: str = "default") -> Callable[[Any], Any]:
        """Returns a decorator that makes a range of a call."""
        return lambda function: function


_sync_debug_mode = 0


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Sets whether synchronizing is reported: 0 or "default", 1 or "warn", 2 or "error"."""
    global _sync_debug_mode
    modes = {"default": 0, "warn": 1, "error": 2}
    mode = modes.get(debug_mode, -1) if isinstance(debug_mode, str) else debug_mode
    if mode not in modes.values():
        raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`")
    _sync_debug_mode = mode


def get_sync_debug_mode() -> int:
    """Returns what `set_sync_debug_mode` set, as a number."""
    return _sync_debug_mode


def set_compile_mode(jit_compile: bool = False) -> None:
    """Chooses between compiled and prepared operators, which makes no difference here."""


def is_jit_compile_false() -> bool:
    """Tells whether operators are the prepared ones: always."""
    return True


def get_soc_version() -> int:
    """Returns torch_npu's number of the chip."""
    return SOC_VERSION


CHARACTER = Character(
    title="NPU",
    device_name="Ascend910B1",
    padding=32,
    channels_last=False,
    float64=False,
    amp_dtypes=("float16", "bfloat16", "float32"),
    names={
        "matmul": Precision(allow_hf32=False),
        "conv": Precision(allow_hf32=True),
        "config": Configuration(),
    },
    package={"_C._distributed_c10d.ProcessGroupHCCL": distributed.ProcessGroup},
)

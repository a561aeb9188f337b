"""Devices of the simulated machine: their number, the current one, their properties."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import torch

from morph.software import distributed
from morph.software.machine import Machine, started

FREQUENCY = 1e9  # cycles in a second

AnyDevice = torch.device | str | int | None


def values(machine: Machine) -> dict[str, Any]:
    """Return the names that are variables of the vendors' modules."""
    return {"_initialized": False, "_cached_device_count": None, "OutOfMemoryError": torch.OutOfMemoryError}


def device_count() -> int:
    """Return how many devices there are."""
    return started().count


def current_device() -> int:
    """Return the index of this thread's current device."""
    return int(started().native.current_device())


def set_device(device: AnyDevice) -> None:
    """Make a device this thread's current one; a negative index changes nothing."""
    index = _get_device_index(device, optional=True)
    if index >= 0:
        started().native.set_device(index)


def synchronize(device: AnyDevice = None) -> None:
    """Wait until the work of a device is done, collectives included."""
    started().native.synchronize(_get_device_index(device, optional=True))
    distributed.settle()


def is_available() -> bool:
    """Return whether there is a device."""
    return device_count() > 0


def is_initialized() -> bool:
    """Return whether this process has used a device."""
    return bool(started().native.is_initialized()) and not _is_in_bad_fork()


def init() -> None:
    """Use the device for the first time."""
    _lazy_init()


def _lazy_init() -> None:
    started().native.initialize()


def _lazy_call(callable: Callable[[], object], **options: Any) -> None:
    callable()


def _is_in_bad_fork() -> bool:
    return bool(started().native.is_in_bad_fork())


def _get_device(device: AnyDevice) -> torch.device:
    if isinstance(device, int):
        return torch.device(started().device_type, device)
    return torch.device(device) if device is not None else torch.device(started().device_type)


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    if isinstance(device, int):
        return device
    if isinstance(device, globals()["device"]):
        return int(device.idx)
    parsed = torch.device(device) if isinstance(device, str) else device
    if isinstance(parsed, torch.device) and parsed.type != started().device_type:
        if not (allow_cpu and parsed.type == "cpu"):
            raise ValueError(f"Expected a {started().device_type} device, but got: {parsed}")
        return -1
    if parsed is None or parsed.index is None:
        if not optional:
            raise ValueError(
                f"Expected a {started().device_type} device with a specified index, but got: {device}"
            )
        return current_device()
    return int(parsed.index)


def _exchange_device(device: int) -> int:
    if device < 0:
        return -1
    previous = current_device()
    set_device(device)
    return previous


def _maybe_exchange_device(device: int) -> int:
    return _exchange_device(device)


class _DeviceGuard:
    """Makes the device of an index current for the length of a ``with`` block; a negative one is none."""

    def __init__(self, index: int) -> None:
        self.idx = index
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = _exchange_device(self.idx)

    def __exit__(self, type: object, value: object, traceback: object) -> None:
        _maybe_exchange_device(self.prev_idx)


class device:
    """Makes a device current for the length of a ``with`` block."""

    def __init__(self, device: Any) -> None:
        self.idx = _get_device_index(device, optional=True)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = current_device()
        set_device(self.idx)

    def __exit__(self, *args: object) -> None:
        set_device(self.prev_idx)


class device_of(device):
    """Makes the device of a tensor or storage current for the length of a ``with`` block."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.device.type == started().device_type else -1)


class DeviceProperties:
    """A device's properties."""

    name = "simulated device"
    major = minor = 1
    multi_processor_count = 16
    total_memory = 0

    def __init__(self, total_memory: int, **fields: Any) -> None:
        self.__dict__.update(total_memory=total_memory, **fields)

    def __repr__(self) -> str:
        memory, processors = self.total_memory // (1 << 20), self.multi_processor_count
        figures = f"total_memory={memory}MB, multi_processor_count={processors}"
        generation = f"major={self.major}, minor={self.minor}"
        return f"{type(self).__name__}(name='{self.name}', {generation}, {figures})"


def valid_index(device: AnyDevice) -> int:
    """Return the index of a device that exists.

    Raises:
        AssertionError: If it does not, as torch does for a GPU.
    """
    index = _get_device_index(device, optional=True)
    if not 0 <= index < device_count():
        raise AssertionError("Invalid device id")
    return index


def get_device_properties(device: AnyDevice = None) -> DeviceProperties:
    """Return a device's properties: name, bytes of memory, and whatever else the vendor reports."""
    valid_index(device)
    return started().quirks.properties(started().memory)


def get_device_name(device: AnyDevice = None) -> str:
    """Return a device's name."""
    return get_device_properties(device).name


def get_device_capability(device: AnyDevice = None) -> tuple[int, int]:
    """Return the vendor's number of the device's generation."""
    properties: Any = get_device_properties(device)
    return properties.major, properties.minor


def can_device_access_peer(device: AnyDevice, peer_device: AnyDevice) -> bool:
    """Return whether one device can read another's memory."""
    return started().reaches(valid_index(device), valid_index(peer_device))


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return whether autocast may use bfloat16."""
    return "bfloat16" in started().quirks.amp_dtypes


def utilization(device: AnyDevice = None) -> int:
    """Return the load of a device in percent; it is always idle when this can be called."""
    valid_index(device)
    return 0


def ipc_collect() -> None:
    """Free memory that other processes have released."""
    started().native.collect_shared()


def current_blas_handle() -> ctypes.c_void_p | None:
    """Return None: there is no BLAS library behind the device."""
    return None


def _parse_visible_devices() -> list[int]:
    return list(range(device_count()))


def _sleep(cycles: int) -> None:
    """Keep the current stream busy for so many cycles."""
    started().native.sleep(cycles / FREQUENCY)

"""The device, and the names that choose, ask for and wait for a device.

There is one, but a launcher of several local processes (torchrun) means each to have a device of its own:
then there are as many, each of them the CPU.
"""

from __future__ import annotations

import functools
import inspect
import os
import threading
import time
from collections.abc import Callable
from typing import Any, Literal

import psutil
import torch
import torch.cuda

TYPES = ("cuda", "cpu")
CPU = torch.device("cpu")
_thread = threading.local()


def torch_own(module: Any) -> Any:
    """Return torch's own module behind a served one; a module that is not served is its own."""
    return inspect.unwrap(module)


def index_of(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """Return the index that ``device`` stands for, as ``torch.cuda._get_device_index`` does.

    Args:
        device: A number, a name, a ``torch.device``, a ``torch.cuda.device`` or None.
        optional: Whether None and a device without index mean the current device.
        allow_cpu: Accepted as on CUDA; the CPU is the device here, and has an index.

    Raises:
        ValueError: If it is not the CPU, or names none where one is needed.
        torch.AcceleratorError: If there are not so many devices.
    """
    if isinstance(device, device_context):
        return device.idx
    if device is None and not optional:
        raise ValueError("Expected a torch.device with a specified index or an integer, but got: None")
    index = _index_in(device) if isinstance(device, str | torch.device) else device
    return _checked(current_device() if index is None else index)


def _index_in(device: str | torch.device) -> int | None:
    named = torch.device(device)
    if named.type not in TYPES:
        raise ValueError(f"Expected a cuda device, but got: {device}")
    number = str(device).partition(":")[2]
    return int(number) if number else None


def _checked(index: Any) -> int:
    if not isinstance(index, int):
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got: {index!r}")
    if index >= max(1, device_count()):
        raise torch.AcceleratorError(f"CUDA error: invalid device ordinal {index}: the CPU is one device")
    return index


@functools.cache
def device_count() -> int:
    """Return 1, or how many local processes were launched together (``LOCAL_WORLD_SIZE``).

    It is 0 where ``CUDA_VISIBLE_DEVICES`` hid every device when this was first asked.
    """
    processes = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    return min(processes, len(torch_own(torch.cuda)._parse_visible_devices()))


def is_available() -> bool:
    """Tell whether the device is there: hidden ones make a program choose the CPU by itself."""
    return device_count() > 0


def current_device() -> int:
    """Return the index of this thread's current device."""
    index: int = getattr(_thread, "index", 0)
    return index


def set_device(device: Any) -> None:
    """Make ``device`` this thread's current one; a negative number is none.

    Raises:
        torch.AcceleratorError: If there are not so many devices.
    """
    exchange_device(index_of(device))


def exchange_device(device: int) -> int:
    """Make ``device`` the current one and return the one before it; a negative number is none."""
    if _checked(device) < 0:
        return device
    previous, _thread.index = current_device(), device
    return previous


def synchronize(device: Any = None) -> None:
    """Return at once: work on the CPU is done when its call returns.

    Raises:
        torch.AcceleratorError: If ``device`` is not the one there is.
    """
    index_of(device, optional=True)


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Return False: a device is not its own peer."""
    for each in (device, peer_device):
        index_of(each, optional=True)
    return False


class device_context:
    """Context manager that selects a device.

    Attributes:
        idx: The device's index; negative for none.
    """

    def __init__(self, device: Any) -> None:
        self.idx = index_of(device, optional=True)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = exchange_device(self.idx)

    def __exit__(self, *exception: object) -> Literal[False]:
        self.idx = exchange_device(self.prev_idx)
        return False


class device_of(device_context):
    """Context manager that selects the device of a tensor or storage."""

    def __init__(self, obj: Any) -> None:
        super().__init__(current_device() if obj.device.type in TYPES else -1)


device_context.__name__ = device_context.__qualname__ = "device"
for _class in (device_context, device_of):
    _class.__module__ = "torch.cuda"


def call_now(callable: Callable[[], object], **kwargs: object) -> None:
    """Call what CUDA would put off until it is initialised, which the CPU is."""
    callable()


def sleep(cycles: int) -> None:
    """Keep the device, which is this thread, busy for ``cycles`` of its clock."""
    frequency = psutil.cpu_freq()
    megahertz = frequency.current if frequency else 1000
    time.sleep(cycles / (megahertz * 1e6))

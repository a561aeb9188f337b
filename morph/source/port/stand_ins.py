"""The stand-ins: ported modules get copies of those that they use. They do not depend on morph.

``default_device`` and ``accelerator`` come first, functions and classes after them. If a module already uses
a name, the copy gets another one; the annotations are for this file only.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import time
import types
from typing import Any

import torch

default_device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
accelerator = default_device.type if torch.accelerator.is_available() else "no accelerator"

tensor_types = torch.get_device_module() if torch.accelerator.is_available() else torch
host_and_device = (
    f"cpu:gloo,{accelerator}:{torch.distributed.get_default_backend_for_device(default_device)}"
    if torch.accelerator.is_available()
    else "cpu:gloo"
)


def device_at(index: Any) -> torch.device:
    """Return the accelerator with a number; the CPU where there is no accelerator."""
    if index is None or not torch.accelerator.is_available():
        return default_device
    return torch.device(f"{default_device.type}:{index}" if str(index).isdigit() else index)


def on_device(device: Any) -> Any:
    """Make a device the current one for the length of a ``with`` block."""
    is_none = device is None or (isinstance(device, int) and device < 0)
    if is_none or not torch.accelerator.is_available():
        return contextlib.nullcontext()
    return torch.accelerator.device_index(device_at(device).index)


def on_device_of(tensor: torch.Tensor) -> Any:
    """Make the device of a tensor the current one for the length of a ``with`` block."""
    return on_device(tensor.device if tensor.device.type == accelerator else None)


def device_name(device: Any = None) -> Any:
    """Return what people call a device."""
    if not torch.accelerator.is_available():
        return platform.processor() or "CPU"
    return torch.get_device_module().get_device_name(device)


def device_properties(device: Any = None) -> Any:
    """Return a device's properties; every vendor has ``name`` and ``total_memory``."""
    if torch.accelerator.is_available():
        return torch.get_device_module().get_device_properties(device)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return types.SimpleNamespace(
        name=device_name(), total_memory=memory, multi_processor_count=os.cpu_count(), major=0, minor=0
    )


def device_capability(device: Any = None) -> Any:
    """Return a device's generation in its vendor's numbers; (0, 0) where the vendor has none."""
    if not torch.accelerator.is_available():
        return 0, 0
    capability = torch.get_device_module().get_device_capability(device)
    return capability if isinstance(capability, tuple) else (0, 0)


def bfloat16_supported(including_emulation: bool = True) -> Any:
    """Return whether the accelerator computes in bfloat16."""
    if not torch.accelerator.is_available():
        return False
    return torch.get_device_module().is_bf16_supported()


def saved_on_cuda(storage: Any, location: str) -> Any:
    """Return a storage where it was saved, or on the accelerator if that was CUDA."""
    return saved_at({})(storage, location)


def saved_at(locations: dict[str, str]) -> Any:
    """Return a storage's place by where it was saved; CUDA's devices are the accelerator's there."""

    def restore(storage: Any, location: str) -> Any:
        saved_on = re.fullmatch(r"cuda:?(\d*)", location)
        location = str(device_at(saved_on[1] or 0)) if saved_on else location
        return torch.serialization.default_restore_location(storage, locations.get(location, location))

    return restore


def pinned(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor in memory that an accelerator can copy from; as it is where there is none."""
    return tensor.pin_memory() if torch.accelerator.is_available() else tensor


def memory_info(device: Any = None) -> tuple[int, int]:
    """Return the bytes that are free and that there are; the host's where there is no accelerator."""
    if torch.accelerator.is_available():
        return torch.accelerator.get_memory_info(device)
    page = os.sysconf("SC_PAGE_SIZE")
    return page * os.sysconf("SC_AVPHYS_PAGES"), page * os.sysconf("SC_PHYS_PAGES")


def memory_summary(device: Any = None, abbreviated: bool = False) -> Any:
    """Return a table of what the accelerator's allocator holds; empty where there is none."""
    if not torch.accelerator.is_available():
        return ""
    return torch.get_device_module().memory_summary(device, abbreviated)


def device_rng_state(device: Any = None) -> Any:
    """Return the state of a device's random numbers."""
    if not torch.accelerator.is_available():
        return torch.get_rng_state()
    module = torch.get_device_module()
    return module.get_rng_state() if device is None else module.get_rng_state(device)


def set_device_rng_state(new_state: torch.Tensor, device: Any = None) -> None:
    """Put back the state of a device's random numbers."""
    if torch.accelerator.is_available():
        torch.get_device_module().set_rng_state(new_state, *([] if device is None else [device]))
    else:
        torch.set_rng_state(new_state)


def device_rng_states() -> Any:
    """Return the states of all the accelerators' random numbers."""
    if not torch.accelerator.is_available():
        return []
    return torch.get_device_module().get_rng_state_all()


def set_device_rng_states(new_states: list[torch.Tensor]) -> None:
    """Put back the states of all the accelerators' random numbers."""
    if torch.accelerator.is_available():
        torch.get_device_module().set_rng_state_all(new_states)


class HostEvent:
    """Stands in for torch.Event where there is no accelerator: what was asked for is done."""

    def record(self, stream: Any = None) -> None:
        """Take the time."""
        self.time = time.perf_counter()

    def elapsed_time(self, end_event: HostEvent) -> float:
        """Return the milliseconds until another event."""
        return 1000 * (end_event.time - self.time)

    def query(self) -> bool:
        """Return whether what was asked for is done."""
        return True

    def wait(self, stream: Any = None) -> None:
        """Do nothing, since nothing is awaited."""

    def synchronize(self) -> None:
        """Do nothing, since nothing is awaited."""


def make_event(enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> Any:
    """Return an event of the accelerator, or one of the host's."""
    if not torch.accelerator.is_available():
        return HostEvent()
    return torch.Event(enable_timing=enable_timing, blocking=blocking, interprocess=interprocess)


class HostStream:
    """Stands in for torch.Stream where there is no accelerator: everything is done in order."""

    device, device_index, stream_id = default_device, 0, 0

    def __enter__(self) -> HostStream:
        return self

    def __exit__(self, *raised: object) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HostStream)

    __hash__ = object.__hash__

    def record_event(self, event: Any = None) -> Any:
        """Record an event."""
        event = event or HostEvent()
        event.record()
        return event

    def query(self) -> bool:
        """Return whether what was asked for is done."""
        return True

    def wait_event(self, event: Any) -> None:
        """Do nothing, since nothing is awaited."""

    def wait_stream(self, stream: Any) -> None:
        """Do nothing, since nothing is awaited."""

    def synchronize(self) -> None:
        """Do nothing, since nothing is awaited."""


def make_stream(device: Any = None, priority: int = 0) -> Any:
    """Return a stream of the accelerator, or one of the host's."""
    if not torch.accelerator.is_available():
        return HostStream()
    return torch.Stream(device=device, priority=priority) if device else torch.Stream(priority=priority)


def current_stream(device: Any = None) -> Any:
    """Return the stream that a device works on now."""
    return torch.accelerator.current_stream(device) if torch.accelerator.is_available() else HostStream()


def default_stream(device: Any = None) -> Any:
    """Return the stream that a device works on at first."""
    if not torch.accelerator.is_available():
        return HostStream()
    stream = torch.get_device_module().default_stream(device)
    return torch.Stream(
        stream_id=stream.stream_id, device_index=stream.device_index, device_type=stream.device_type
    )

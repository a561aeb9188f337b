"""Memory figures of the simulated device: those of torch's caching allocators, in bytes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

import torch
from typing_extensions import deprecated

from morph.software import devices
from morph.software.devices import AnyDevice
from morph.software.machine import Machine, started


def values(machine: Machine) -> dict[str, Any]:
    """Return the vendor's older names on this subject, which are deprecated."""
    newer = {
        "memory_cached": memory_reserved,
        "max_memory_cached": max_memory_reserved,
        "reset_max_memory_allocated": reset_peak_memory_stats,
        "reset_max_memory_cached": reset_peak_memory_stats,
    }
    module = machine.facts.module
    return {
        name: _deprecated(f"{module}.{name} is now {module}.{new.__name__}", new)
        for name, new in newer.items()
    }


def _deprecated(message: str, new: Callable[..., Any]) -> Callable[..., Any]:
    def call(device: AnyDevice = None) -> Any:
        return new(device)

    return deprecated(message, category=FutureWarning)(call)


def _index(device: AnyDevice) -> int:
    index = devices._get_device_index(device, optional=True)
    if not 0 <= index < started().count:
        raise RuntimeError(f"Invalid device argument {index}: did you call init?")
    return index


class _Bindings:
    """``torch._C`` with the simulated device's functions, as a build of torch for CUDA has them."""

    def __getattr__(self, name: str) -> Any:
        from morph.software.cuda import memory

        vars(self).update(memory.names(started()))
        return vars(self)[name]


_own: Any = sys.modules["torch.cuda.memory"]
_own = getattr(_own, "__wrapped__", _own)  # where a backend serves the module
_SCOPE: dict[str, Any] = {
    **vars(_own),
    "torch": SimpleNamespace(_C=_Bindings(), cuda=devices),
    "is_initialized": lambda: True,
    "_lazy_init": devices._lazy_init,
    "_get_device_index": lambda device, optional=False: _index(device),
}


def _of_torch(name: str) -> Any:
    """Return torch's own function, which the vendors copied, for the simulated device."""
    own = getattr(_own, name)
    made = FunctionType(own.__code__, _SCOPE, name, own.__defaults__)
    made.__module__, made.__doc__ = __name__, own.__doc__
    _SCOPE[name] = made
    return made


memory_stats_as_nested_dict = _of_torch("memory_stats_as_nested_dict")
memory_stats = _of_torch("memory_stats")
memory_allocated = _of_torch("memory_allocated")
max_memory_allocated = _of_torch("max_memory_allocated")
memory_reserved = _of_torch("memory_reserved")
max_memory_reserved = _of_torch("max_memory_reserved")
empty_cache = _of_torch("empty_cache")
reset_peak_memory_stats = _of_torch("reset_peak_memory_stats")
reset_accumulated_memory_stats = _of_torch("reset_accumulated_memory_stats")
set_per_process_memory_fraction = _of_torch("set_per_process_memory_fraction")
get_per_process_memory_fraction = _of_torch("get_per_process_memory_fraction")
caching_allocator_delete = _of_torch("caching_allocator_delete")
caching_allocator_enable = _of_torch("caching_allocator_enable")
get_allocator_backend = _of_torch("get_allocator_backend")
host_memory_stats_as_nested_dict = _of_torch("host_memory_stats_as_nested_dict")
host_memory_stats = _of_torch("host_memory_stats")
reset_peak_host_memory_stats = _of_torch("reset_peak_host_memory_stats")
reset_accumulated_host_memory_stats = _of_torch("reset_accumulated_host_memory_stats")
_summary = _of_torch("memory_summary")


def memory_summary(device: AnyDevice = None, abbreviated: bool = False) -> str:
    """Return a table of a device's figures for people to read."""
    title = started().quirks.title
    text: str = _summary(device, abbreviated)
    lines = text.replace("PyTorch CUDA", f"PyTorch {title}").replace("CUDA OOMs", f"{title} OOMs")
    return "".join(f"{line[:-1]:<76}|\n" for line in lines.splitlines())


def mem_get_info(device: AnyDevice = None) -> tuple[int, int]:
    """Return the free and the total bytes of a device."""
    free, total = started().native.mem_get_info(_index(device))
    return int(free), int(total)


def caching_allocator_alloc(size: int, device: AnyDevice = None, stream: torch.Stream | None = None) -> int:
    """Allocate bytes of a device and return their address."""
    return int(started().native.allocate(size, _index(device)))


def _set_allocator_settings(settings: str) -> None:
    """Accept settings; none of them has an effect here."""


def host_empty_cache() -> None:
    """Release the pinned memory that is not in use."""
    started().native.empty_pinned_cache()

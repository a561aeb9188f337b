"""Memory statistics, pools and allocators: parameters and members that Intel's lack."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from morph.aliases.adapters import memory
from morph.backends.refusal import lacks

_HISTORY = ("context", "stacks", "max_entries", "clear_history", "skip_actions")
_UNCOUNTED = "its allocator counts allocated, reserved, active and requested bytes"


class Statistics(collections.OrderedDict[str, Any]):
    """The allocator's statistics; access to one that it does not count raises an error that names it."""

    def __missing__(self, key: str) -> Any:
        raise KeyError(str(lacks(f"torch.cuda.memory_stats()[{key!r}]", _UNCOUNTED)))

    def __reduce__(self) -> Any:
        return collections.OrderedDict, (list(self.items()),)


def memory_stats(target: Callable[[Any], dict[str, Any]], device: Any = None) -> Statistics:
    """Implement ``torch.cuda.memory_stats(device)``."""
    return Statistics(target(device))


def record_memory_history(
    target: Callable[..., None], enabled: str | None = "all", *args: Any, **kwargs: Any
) -> None:
    """Implement ``torch.cuda.memory._record_memory_history``; what Intel's lacks only gives a warning.

    Args:
        target: Intel's function, which records events of all devices.
        enabled: None, ``"state"`` or ``"all"``.
        *args: The others of CUDA's arguments, by their places.
        **kwargs: They by name.
    """
    given = memory.history_arguments(args, kwargs)
    given.pop("device", None)
    memory.record(target, enabled, given, _HISTORY)


def initialise_allocator(
    target: Callable[..., None], allocator: Any, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str
) -> None:
    """Initialise a ``torch.cuda.CUDAPluggableAllocator``; Intel names the file parameter differently."""
    target(allocator, path_to_so_file, alloc_fn_name, free_fn_name)


def get_allocator_backend() -> str:
    """Return "native": torch's own allocator."""
    return "native"

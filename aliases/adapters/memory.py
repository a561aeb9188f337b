"""Memory functions and parameters of CUDA that a vendor lacks, and raw memory by address."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Collection, Iterator
from typing import Any

import torch


def device_memory_used(device: Any = None) -> int:
    """Implement ``torch.cuda.device_memory_used(device)``.

    Args:
        device: The device; None is the current one.

    Returns:
        Bytes in use on the device, by all processes.
    """
    free, total = torch.cuda.mem_get_info(device)
    return int(total - free)


def snapshot_of_pool(target: Callable[[Any], Any], pool: Any, include_traces: bool = True) -> Any:
    """Implement ``torch.cuda.MemPool.snapshot(include_traces)``; the vendor always includes the traces."""
    return target(pool)


_HISTORY = (
    *("context", "stacks", "max_entries", "device", "clear_history", "compile_context"),
    *("global_record_annotations", "skip_actions"),
)


def record_memory_history(
    target: Callable[..., None], enabled: str | None = "all", *args: Any, **kwargs: Any
) -> None:
    """Implement ``torch.cuda.memory._record_memory_history``; what the vendor lacks only gives a warning.

    Args:
        target: The vendor's function, which takes the arguments up to ``device``.
        enabled: None, ``"state"`` or ``"all"``.
        *args: The others of CUDA's arguments, by their places.
        **kwargs: They by name. Earlier events are dropped by switching the recording off and on.
    """
    given = history_arguments(args, kwargs)
    if given.pop("clear_history", False):
        target(None)
    record(target, enabled, given, _HISTORY[:4])


def history_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``_record_memory_history`` behind the first, by their names."""
    return {**dict(zip(_HISTORY, args, strict=False)), **kwargs}


def record(
    target: Callable[..., None], enabled: str | None, given: dict[str, Any], taken: Collection[str]
) -> None:
    """Call the vendor's function with those arguments that it takes; the others give a warning."""
    for name in (name for name, value in given.items() if value and name not in taken):
        warnings.warn(f"_record_memory_history({name}=...) changes nothing on this device", stacklevel=3)
    target(enabled, **{name: value for name, value in given.items() if name in taken})


_fractions: dict[int, float] = {}


def set_per_process_memory_fraction(
    target: Callable[[float, Any], None], fraction: float, device: Any = None
) -> None:
    """Implement ``torch.cuda.set_per_process_memory_fraction``, and store it: the vendor cannot return it."""
    target(fraction, device)
    _fractions[_index(device)] = fraction


def get_per_process_memory_fraction(device: Any = None) -> float:
    """Return the argument of ``set_per_process_memory_fraction`` for ``device``, by default 1.0."""
    return _fractions.get(_index(device), 1.0)


def _index(device: Any) -> int:
    cuda: Any = torch.cuda
    return int(cuda._get_device_index(device, optional=True))


_caching = True


def caching_allocator_enable(target: Callable[[bool], None], value: bool = True) -> None:
    """Implement ``torch.cuda.caching_allocator_enable``, and store it: the vendor cannot return it."""
    global _caching
    cuda: Any = torch.cuda
    target(value)
    if cuda.is_initialized():  # before that the vendor's function does nothing, as CUDA's
        _caching = value


@contextlib.contextmanager
def caching_allocator_disabled() -> Iterator[None]:
    """Implement ``torch.cuda.caching_allocator_disabled`` by the two calls of the other."""
    before = _caching
    torch.cuda.caching_allocator_enable(False)
    try:
        yield
    finally:
        torch.cuda.caching_allocator_enable(before)


def set_allocator_settings(target: Callable[[str], None], env: str) -> None:
    """Implement ``torch.cuda.memory._set_allocator_settings(env)``; the vendor refuses settings it lacks."""
    target(env)


_taken: dict[int, torch.Tensor] = {}


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int:
    """Implement ``torch.cuda.caching_allocator_alloc``.

    Args:
        size: Bytes.
        device: The device; None is the current one.
        stream: The stream that uses the memory, or its handle; None is the current one.

    Returns:
        The address.
    """
    cuda: Any = torch.cuda
    if isinstance(stream, int):
        stream = cuda.ExternalStream(stream, device)
    current = cuda.stream(stream) if stream is not None else contextlib.nullcontext()
    with cuda.device(device), current:
        block = torch.empty(size, dtype=torch.uint8, device="cuda")
    _taken[block.data_ptr()] = block
    return block.data_ptr()


def caching_allocator_delete(mem_ptr: int) -> None:
    """Free memory that ``caching_allocator_alloc`` returned.

    Raises:
        RuntimeError: If the address is not one that it returned.
    """
    if _taken.pop(mem_ptr, None) is None:
        raise RuntimeError(f"invalid device pointer: {mem_ptr:#x}")

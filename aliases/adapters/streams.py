"""Streams and events: parameters and members of CUDA's classes that the vendor's classes lack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from morph.backends import vendor_module
from morph.backends.refusal import lacks

_NOT_GIVEN = object()


def new_event(
    target: Callable[..., Any],
    cls: type,
    enable_timing: bool = False,
    blocking: bool = False,
    interprocess: bool = False,
    external: bool = False,
) -> Any:
    """Create a ``torch.cuda.Event``.

    Args:
        target: The vendor's ``Event.__new__``, which has no ``external``.
        cls: The class.
        enable_timing: Whether it measures time.
        blocking: Whether ``wait`` blocks.
        interprocess: Whether it can be shared between processes.
        external: Whether graphs capture it as an external event.

    Raises:
        MissingNameError: If ``external`` is requested.
    """
    if external:
        raise lacks("torch.cuda.Event(external=True)", "its events cannot be nodes of the outside in a graph")
    return target(cls, enable_timing=enable_timing, blocking=blocking, interprocess=interprocess)


def enter_stream_context(
    target: Callable[..., None], context: Any, stream_ctx: Any = _NOT_GIVEN, *, stream: Any = _NOT_GIVEN
) -> None:
    """Initialise a ``torch.cuda.StreamContext``, whose parameter is ``stream`` on CUDA."""
    target(context, stream if stream_ctx is _NOT_GIVEN else stream_ctx)


def get_stream_from_external(target: Callable[..., Any], data_ptr: int, device: Any = None) -> Any:
    """Implement ``torch.cuda.get_stream_from_external`` with the vendor's ``ExternalStream``."""
    return target(data_ptr, device)


priority_range = staticmethod(lambda: (0, 0))  # the lowest and the highest, which are equal
priority = property(lambda stream: 0, doc="The stream's priority, of which there is one.")


def set_stream_by_id(stream_id: int, device_index: int, device_type: int) -> None:
    """Implement ``torch.cuda._set_stream_by_id(stream_id, device_index, device_type)``."""
    vendor = vendor_module()
    vendor.set_stream(vendor.Stream(stream_id=stream_id, device_index=device_index, device_type=device_type))


def exchange_device(device: int) -> int:
    """Select ``device`` and return the previous device's index; a negative index changes nothing."""
    if device < 0:
        return -1
    vendor = vendor_module()
    previous = int(vendor.current_device())
    if previous != device:
        vendor.set_device(device)
    return previous


def maybe_exchange_device(device: int) -> int:
    """Do the same as ``exchange_device``; Dynamo distinguishes torch.cuda's two functions by identity."""
    return exchange_device(device)


class DeviceGuard:
    """Selects a device by index for the duration of a ``with`` block, as ``torch.cuda._DeviceGuard``.

    Args:
        index: The device's index; a negative one does nothing.
    """

    exchange = staticmethod(exchange_device)

    def __init__(self, index: int) -> None:
        self.idx = index
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = self.exchange(self.idx)

    def __exit__(self, *exception: object) -> None:
        self.idx = self.exchange(self.prev_idx)

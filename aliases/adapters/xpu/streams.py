"""Streams and events: parameters and members of CUDA's classes that Intel's classes lack."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from morph.backends import vendor_module
from morph.backends.refusal import lacks


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
        target: Intel's ``Event.__new__``, which takes ``enable_timing`` only.
        cls: The class.
        enable_timing: Whether it measures time.
        blocking: How the host waits, which changes no result.
        interprocess: Whether it can be shared between processes.
        external: Whether graphs capture it as an external event.

    Raises:
        MissingNameError: If ``interprocess`` or ``external`` is requested.
    """
    if interprocess:
        raise lacks("torch.cuda.Event(interprocess=True)", "its events cannot be shared between processes")
    if external:
        raise lacks("torch.cuda.Event(external=True)", "its events cannot be nodes of the outside in a graph")
    return target(cls, enable_timing=enable_timing)


class ExternalStream(torch.xpu.Stream):
    """A stream around a queue that another library owns.

    Args:
        stream_ptr: The address of the ``sycl::queue``.
        device: The device of the queue; None is the current one.
    """

    def __new__(cls, stream_ptr: int, device: Any = None, **kwargs: Any) -> Any:
        """Wrap the queue at ``stream_ptr``."""
        outside = vendor_module().get_stream_from_external(stream_ptr, device)
        place = {key: getattr(outside, key) for key in ("stream_id", "device_index", "device_type")}
        return super().__new__(cls, **place, **kwargs)  # type: ignore[no-untyped-call]


ExternalStream.__module__ = "torch.cuda.streams"


def current_stream(target: Callable[[Any], Any], device: Any = None) -> Any:
    """Implement ``torch.cuda.current_stream(device)``.

    It is distinct from Intel's function: Dynamo registers both, and refuses to register one function twice.
    """
    return target(device)


def synchronize(target: Callable[[Any], None], device: Any = None) -> None:
    """Implement ``torch.cuda.synchronize(device)``; distinct from Intel's, as ``current_stream`` is."""
    target(device)


def default_stream(device: Any = None) -> Any:
    """Implement ``torch.cuda.default_stream(device)``: the initial stream of every thread."""
    vendor = vendor_module()
    index = vendor._get_device_index(device, optional=True)
    with ThreadPoolExecutor(max_workers=1) as fresh:
        return fresh.submit(vendor.current_stream, index).result()

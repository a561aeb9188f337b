"""Streams: a TPU runs its programs one after the other, and torch_tpu's streams order nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from morph.aliases.adapters import streams
from morph.aliases.adapters.tpu.devices import directly, exchange_device, refuse_unless_own


class DeviceGuard(streams.DeviceGuard):
    """Selects the process's own device for the duration of a ``with`` block, and refuses another's."""

    exchange = staticmethod(exchange_device)


def stream_of(target: Callable[..., Any], device: Any = None) -> Any:
    """Implement ``torch.cuda.current_stream`` and ``torch.cuda.default_stream``.

    Args:
        target: torch_tpu's function, which takes a ``torch.device`` with an index, or nothing.
        device: The device; None is the current one.
    """
    stream = directly(target)
    return stream() if device is None else stream(torch.device("cuda", refuse_unless_own(device)))


def synchronize(target: Callable[[int], None], device: Any = None) -> None:
    """Implement ``torch.cuda.synchronize(device)``."""
    if device is not None:
        refuse_unless_own(device)
    directly(target)(0)


def query(stream: Any) -> bool:
    """Implement ``Stream.query`` by an event: torch_tpu's raises, and torch's own is always true (0.2.0).

    torch_tpu's event is done some milliseconds after the work before it: for that long an idle stream may be
    said to be busy. A busy one is never said to be idle.
    """
    return bool(stream.record_event().query())


class StreamContext:
    """Makes a stream the current one for a ``with`` block.

    Args:
        stream: The stream; None changes nothing.
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            torch.Stream.__enter__(self.stream)

    def __exit__(self, *exception: Any) -> None:
        if self.stream is not None:
            torch.Stream.__exit__(self.stream, *exception)


StreamContext.__module__ = "torch.cuda"


def stream(stream: Any) -> StreamContext:
    """Implement ``torch.cuda.stream(stream)``."""
    return StreamContext(stream)

"""Streams: a TPU runs its programs one after the other, and torch_tpu's streams order nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from morph.aliases.adapters.tpu.devices import get_device_index


def stream_of(target: Callable[[torch.device], Any], device: Any = None) -> Any:
    """Implement ``torch.cuda.current_stream`` and ``torch.cuda.default_stream``.

    Args:
        target: torch_tpu's function, which takes a ``torch.device`` with an index.
        device: The device; None is the current one.
    """
    return target(torch.device("cuda", get_device_index(device, optional=True)))


def synchronize(target: Callable[[int], None], device: Any = None) -> None:
    """Implement ``torch.cuda.synchronize(device)``."""
    target(get_device_index(device, optional=True))


def query(stream: Any) -> bool:
    """Implement ``Stream.query`` with torch's own, where torch_tpu's class raises (0.2.0)."""
    return torch.Stream.query(stream)


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

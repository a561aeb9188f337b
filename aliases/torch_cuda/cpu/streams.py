"""Streams: work on the CPU is done in order and at once, so they need only be told apart."""

from __future__ import annotations

import ctypes
import functools
import itertools
import threading
from typing import Any, Self

import torch

from morph.aliases.torch_cuda.cpu.device import CPU, index_of
from morph.aliases.torch_cuda.cpu.events import Event

PRIORITIES = (0, -1)

_numbers = itertools.count(1)
_current = threading.local()


class Stream(torch.Stream):
    """A stream of the CPU: what is submitted to it has been done when the call returns.

    Args:
        device: The device, of which there is one.
        priority: Kept, within ``PRIORITIES``; it has no effect.
        **kwargs: ``stream_id`` and ``stream_ptr``, as torch passes them.
    """

    priority: int

    def __new__(cls, device: Any = None, priority: int = 0, **kwargs: Any) -> Self:
        """Create a stream with the next number, or the one that is given."""
        index_of(device, optional=True)
        number = kwargs.get("stream_ptr", kwargs.get("stream_id"))
        if number is None:
            number = next(_numbers)
        stream = super().__new__(cls, stream_id=number, device_index=0, device_type=0)
        stream.priority = max(PRIORITIES[1], min(priority, PRIORITIES[0]))
        return stream

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """Return the lowest and the highest priority."""
        return PRIORITIES

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        """The device of the stream's tensors, equal to theirs."""
        return CPU

    @property
    def cuda_stream(self) -> int:
        """The stream's number; it is no address of a ``cudaStream_t``."""
        return self.stream_id

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.cuda_stream)

    def query(self) -> bool:
        """Return True: all work is done."""
        return True

    def synchronize(self) -> None:
        """Return at once."""

    def wait_event(self, event: torch.Event) -> None:
        """Return at once."""

    def wait_stream(self, stream: torch.Stream) -> None:
        """Return at once."""

    def record_event(self, event: torch.Event | None = None) -> torch.Event:
        """Record ``event``, or a new one, and return it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def is_capturing(self) -> bool:
        """Tell whether a graph is being captured on this stream."""
        from morph.aliases.torch_cuda.cpu import graphs

        return graphs.is_current_stream_capturing() and self == current_stream()

    def __enter__(self) -> Self:
        _entered().append(current_stream())
        set_stream(self)
        return self

    def __exit__(self, *exception: object) -> None:
        set_stream(_entered().pop())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.stream_id == other.stream_id

    def __hash__(self) -> int:
        return hash((self.cuda_stream, self.device))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.cuda_stream


class ExternalStream(Stream):
    """A stream that another library numbered.

    Args:
        stream_ptr: Its number.
        device: The device, of which there is one.
        **kwargs: As for ``Stream``.
    """

    def __new__(cls, stream_ptr: int, device: Any = None, **kwargs: Any) -> Self:
        """Create a stream with the number that is given."""
        return super().__new__(cls, device, stream_ptr=stream_ptr, **kwargs)


class StreamContext:
    """Context manager that selects a stream; None selects nothing.

    Args:
        stream: The stream.
    """

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *exception: object) -> None:
        if self.stream is not None:
            self.stream.__exit__(*exception)


for _class in (Stream, ExternalStream):
    _class.__module__ = "torch.cuda.streams"
StreamContext.__module__ = "torch.cuda"


def stream(stream: Stream | None) -> StreamContext:
    """Return a context manager that selects ``stream``."""
    return StreamContext(stream)


@functools.cache
def _default() -> Stream:
    return Stream(stream_id=0)


def default_stream(device: Any = None) -> Stream:
    """Return the device's default stream."""
    index_of(device, optional=True)
    return _default()


def current_stream(device: Any = None) -> Stream:
    """Return the stream that is selected in this thread."""
    index_of(device, optional=True)
    selected: Stream = getattr(_current, "stream", None) or _default()
    return selected


def set_stream(stream: Stream | None) -> None:
    """Select ``stream`` in this thread; None selects nothing."""
    if stream is not None:
        _current.stream = stream


def set_stream_by_id(stream_id: int, device_index: int, device_type: int) -> None:
    """Select the stream of that number in this thread."""
    set_stream(Stream(stream_id=stream_id))


def get_stream_from_external(data_ptr: int, device: Any = None) -> ExternalStream:
    """Return the stream that another library numbered."""
    return ExternalStream(data_ptr, device)


def _entered() -> list[Stream]:
    if not hasattr(_current, "entered"):
        _current.entered = []
    entered: list[Stream] = _current.entered
    return entered

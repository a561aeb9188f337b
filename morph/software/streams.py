"""Streams and events of the simulated device: torch's own, under the vendor's class names."""

from __future__ import annotations

import ctypes
from typing import Any

import torch

from morph.software import devices
from morph.software.devices import AnyDevice
from morph.software.machine import Machine, namespace, started


def values(machine: Machine) -> dict[str, Any]:
    """Return no names; add the vendors' names for the handles of streams and events: ``npu_stream``."""
    setattr(Stream, f"{machine.device_type}_stream", property(lambda self: self.stream_id))
    setattr(Event, f"{machine.device_type}_event", property(lambda self: self.event_id))
    return {}


class Stream(torch.Stream):
    """A queue of work on one device."""

    def __new__(cls, device: AnyDevice = None, priority: int = 0, **kwargs: Any) -> Stream:
        """Make a stream, or wrap one given by id, device index and device type."""
        if kwargs:
            return super().__new__(cls, **kwargs)
        with devices.device(device):
            return super().__new__(cls, devices._get_device(devices.current_device()), priority=priority)

    @property
    def priority(self) -> int:
        """Lower numbers go first."""
        return int(started().native.stream_priority(self.stream_id))

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """Return the least and the greatest priority."""
        return 0, -1

    def is_capturing(self) -> bool:
        """Return whether this stream's work is being captured into a graph."""
        return bool(started().native.is_captured(self.stream_id, self.device_index))

    def set_data_preprocess_stream(self, is_data_preprocess_stream: bool = False) -> None:
        """Give the queue to data preparation, which makes no difference here."""

    def wait_event(self, event: torch.Event) -> None:
        """Make later work of this stream wait for an event."""
        event.wait(self)

    def wait_stream(self, stream: torch.Stream) -> None:
        """Make later work of this stream wait for the work that another has now."""
        self.wait_event(stream.record_event())

    def record_event(self, event: torch.Event | None = None) -> torch.Event:
        """Record an event, a new one unless given, and return it."""
        event = namespace().Event() if event is None else event
        event.record(self)
        return event

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.stream_id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, torch.Stream) and (self.stream_id, self.device) == (
            other.stream_id,
            other.device,
        )

    def __hash__(self) -> int:
        return hash((self.stream_id, self.device))

    def __repr__(self) -> str:
        handle = f"{started().device_type}_stream"
        return f"<{started().facts.module}.Stream device={self.device} {handle}={self.stream_id:#x}>"


class ExternalStream(Stream):
    """A queue that another library made, known by its handle."""

    def __new__(cls, stream_ptr: int, device: AnyDevice = None, **kwargs: Any) -> ExternalStream:
        """Wrap a stream by its handle."""
        with devices.device(device):
            place = devices._get_device(devices.current_device())
            handle = {"stream_id": stream_ptr, "device_index": place.index}
            return super().__new__(cls, device_type=default_stream().device_type, **handle)  # type: ignore[return-value]


class Event(torch.Event):
    """A mark in a stream, with the time when the stream reached it."""

    _always_timed = False
    _timed: bool

    def __new__(
        cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> Event:
        """Make an event on the current device."""
        options = {"enable_timing": enable_timing, "blocking": blocking, "interprocess": interprocess}
        event = super().__new__(cls, devices._get_device(devices.current_device()), **options)
        event._timed = enable_timing or cls._always_timed
        return event

    def record(self, stream: torch.Stream | None = None) -> None:
        """Mark the end of a stream's work, the current stream's unless given."""
        super().record(current_stream() if stream is None else stream)

    def wait(self, stream: torch.Stream | None = None) -> None:
        """Make later work of a stream, the current one unless given, wait for this event."""
        super().wait(current_stream() if stream is None else stream)

    def elapsed_time(self, end_event: torch.Event) -> float:
        """Return the milliseconds from this event to another; both must have been made to measure time."""
        # torch.Event.elapsed_time accepts no subclass as the other event
        if not (self.event_id and end_event.event_id):
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        if not (self._timed and getattr(end_event, "_timed", False)):
            raise RuntimeError(f"{started().quirks.title} error: invalid resource handle")
        return float(started().native.elapsed_time(self.event_id, end_event.event_id))

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.event_id)

    def __repr__(self) -> str:
        name = f"{started().facts.module}.Event"
        return f"<{name} {self.event_id:#x}>" if self.event_id else f"<{name} uninitialized>"


def _wrapped(plain: torch.Stream, stream_id: int | None = None) -> Stream:
    own = namespace().Stream  # a vendor may have a class of its own
    place = {"device_index": plain.device_index, "device_type": plain.device_type}
    wrapped = own(stream_id=plain.stream_id if stream_id is None else stream_id, **place)
    assert isinstance(wrapped, Stream)
    return wrapped


def current_stream(device: AnyDevice = None) -> Stream:
    """Return this thread's current stream of a device."""
    return _wrapped(torch.accelerator.current_stream(devices._get_device_index(device, optional=True)))


def default_stream(device: AnyDevice = None) -> Stream:
    """Return the stream that a device's work goes to unless another is chosen."""
    current = torch.accelerator.current_stream(devices._get_device_index(device, optional=True))
    return _wrapped(current, stream_id=0)


def _set_stream_by_id(stream_id: int, device_index: int, device_type: int) -> None:
    own = namespace().Stream
    set_stream(own(stream_id=stream_id, device_index=device_index, device_type=device_type))


def set_stream(stream: torch.Stream | None) -> None:
    """Make a stream this thread's current one of its device; None changes nothing."""
    if stream is not None:
        torch._C._accelerator_setStream(stream)


class StreamContext:
    """Makes a stream current for the length of a ``with`` block; None changes nothing."""

    cur_stream: torch.Stream | None

    def __init__(self, stream: torch.Stream | None) -> None:
        self.stream = stream
        self._before: list[tuple[int, Stream]] = []

    def __enter__(self) -> None:
        if self.stream is not None:
            self._before.append((devices.current_device(), current_stream(self.stream.device)))
            devices.set_device(self.stream.device.index)
            set_stream(self.stream)

    def __exit__(self, exec_type: object, exec_value: object, traceback: object) -> None:
        if self.stream is not None:
            device, previous = self._before.pop()
            set_stream(previous)
            devices.set_device(device)


def stream(stream: torch.Stream | None) -> StreamContext:
    """Return a context that makes a stream current."""
    own = getattr(namespace(), "StreamContext", StreamContext)  # a vendor may have the function alone
    context = own(stream)
    assert isinstance(context, StreamContext)
    return context

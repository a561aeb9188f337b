"""The bases of ``torch.xpu.Stream`` and ``torch.xpu.Event``."""

from __future__ import annotations

import torch

from morph.software import devices
from morph.software.machine import started

HIGHEST, LOWEST = -1, 1  # priorities of Intel's queues
# The addresses given for the queues of the simulated device's own streams.
QUEUES = range(1 << 40, (1 << 40) + (1 << 20))


def queue_of(stream_id: int) -> int:
    """Return the address of a stream's ``sycl::queue``, which is the id around another library's."""
    return QUEUES[stream_id] if stream_id < len(QUEUES) else stream_id


def stream_of(queue: int) -> int:
    """Return the id of the stream around a ``sycl::queue``."""
    return QUEUES.index(queue) if queue in QUEUES else queue


class StreamBase(torch.Stream):
    """``torch._C._XpuStreamBase``: a queue of work on one device."""

    def __new__(
        cls, priority: int = 0, stream_id: int = 0, device_index: int = 0, device_type: int = 0
    ) -> StreamBase:
        """Make a stream on the current device, or wrap one given by id, device index and device type."""
        if stream_id or device_index or device_type:
            place = {"device_index": device_index, "device_type": device_type}
            return super().__new__(cls, stream_id=stream_id, **place)
        device = torch.device("xpu", devices.current_device())
        return super().__new__(cls, device, priority=min(max(priority, HIGHEST), LOWEST))

    @property
    def sycl_queue(self) -> int:
        """The address of the ``sycl::queue``."""
        return queue_of(self.stream_id)

    @property
    def priority(self) -> int:
        """Lower numbers go first."""
        return int(started().native.stream_priority(self.stream_id))

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """Return the least and the greatest priority."""
        return LOWEST, HIGHEST


class EventBase(torch.Event):
    """``torch._C._XpuEventBase``: a mark in a stream, with the time when the stream reached it."""

    def __new__(cls, enable_timing: bool = False) -> EventBase:
        """Make an event."""
        made = super().__new__(cls, torch.device("xpu"), enable_timing=enable_timing)
        made._timed = enable_timing
        return made

    _timed: bool

    @property
    def sycl_event(self) -> int:
        """The address of the ``sycl::event``; 0 before it is recorded."""
        return self.event_id

    def elapsed_time(self, other: torch.Event) -> float:
        """Return the milliseconds from this event to another."""
        if not (self.event_id and other.event_id):
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        if not (self._timed and getattr(other, "_timed", True)):
            raise RuntimeError("Both events must be created with argument 'enable_timing=True'.")
        return float(started().native.elapsed_time(self.event_id, other.event_id))


def current(index: int) -> tuple[int, int, int]:
    """Implement ``torch._C._xpu_getCurrentStream``: id, device index and device type."""
    stream = torch.accelerator.current_stream(index)
    return stream.stream_id, stream.device_index, stream.device_type


def set_current(stream_id: int, device_index: int, device_type: int) -> None:
    """Implement ``torch._C._xpu_setStream``, which makes the stream's device current too."""
    started().native.set_device(device_index)
    stream = torch.Stream(stream_id=stream_id, device_index=device_index, device_type=device_type)
    torch._C._accelerator_setStream(stream)


def from_queue(queue: int, index: int) -> tuple[int, int, int]:
    """Implement ``torch._C._xpu_getStreamFromExternal``: a stream around another library's queue."""
    return stream_of(queue), *current(index)[1:]


for _class in (StreamBase, EventBase):
    _class.__name__ = _class.__qualname__ = f"_Xpu{_class.__name__}"
    _class.__module__ = "torch._C"

"""The bases of ``torch.cuda.Stream`` and ``torch.cuda.Event`` in a torch built for ROCm."""

from __future__ import annotations

import operator
from typing import Any

import torch

from morph.software import devices
from morph.software.cuda.shared_events import SharedTime, check_handle
from morph.software.machine import started

INVALID_VALUE, INVALID_HANDLE = 1, 400  # of cudaError_t


PLACE = "stream_id", "device_index", "device_type"


class StreamBase(torch.Stream):
    """``torch._C._CudaStreamBase``: a queue of work on one device."""

    def __new__(cls, priority: int = 0, stream_ptr: int = 0, **place: int) -> StreamBase:
        """Make a stream on the current device, or wrap one given by its handle or its place."""
        priority = operator.index(priority)
        if any(place.values()) or place.keys() - PLACE:
            return super().__new__(cls, **{**dict.fromkeys(PLACE, 0), **place})
        device = torch.device("cuda", devices.current_device())
        if stream_ptr:
            if priority:
                raise RuntimeError("Priority was explicitly set for a external stream")
            default = torch.accelerator.current_stream(device)
            where = {"device_index": device.index, "device_type": default.device_type}
            return super().__new__(cls, stream_id=stream_ptr, **where)
        return super().__new__(cls, device, priority=priority)

    @property
    def cuda_stream(self) -> int:
        """The handle of the stream; 0 is the default one's."""
        return self.stream_id

    @property
    def priority(self) -> int:
        """Lower numbers go first."""
        return int(started().native.stream_priority(self.stream_id))

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """Return the least and the greatest priority."""
        return 0, -3

    def is_capturing(self) -> bool:
        """Return whether this stream's work is being captured into a graph."""
        return bool(started().native.is_captured(self.stream_id, self.device_index))


class EventBase(torch.Event):
    """``torch._C._CudaEventBase``: a mark in a stream, with the time when the stream reached it."""

    _external: bool
    _timed: bool
    _between_processes: bool
    _shared: SharedTime | None = None

    def __new__(
        cls,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> EventBase:
        """Make an event on the current device; CUDA's own is made when it is recorded."""
        given = {"enable_timing": enable_timing, "blocking": blocking, "interprocess": interprocess}
        options = {name: bool(operator.index(value)) for name, value in given.items()}
        made = super().__new__(cls, torch.device("cuda", devices.current_device()), **options)
        made._timed, made._between_processes = options["enable_timing"], options["interprocess"]
        made._external = bool(operator.index(external))
        return made

    def record(self, stream: torch.Stream | None = None) -> None:
        """Mark the end of a stream's work, which is on the device of the first that recorded it.

        Raises:
            torch.AcceleratorError: If it is for several processes and takes its time, which CUDA excludes.
        """
        stream = torch.accelerator.current_stream() if stream is None else _checked(stream)
        if self._timed and self._between_processes:
            started().native.refuse(INVALID_VALUE)
        if self.event_id and self.device != stream.device:
            raise RuntimeError(
                f"Event device {super().device.index} does not match recording stream's device "
                f"{stream.device_index}."
            )
        super().record(stream)
        if self._external:
            started().native.make_external(self.event_id)
        if self._shared is not None:
            self._shared.value = started().native.event_time(self.event_id)

    def wait(self, stream: torch.Stream | None = None) -> None:
        """Make later work of a stream, the current one unless given, wait for this event."""
        stream = torch.accelerator.current_stream() if stream is None else _checked(stream)
        self._follow()
        super().wait(stream)

    def query(self) -> bool:
        """Return whether the event happened."""
        self._follow()
        return super().query()

    def synchronize(self) -> None:
        """Wait until the event happens."""
        self._follow()
        super().synchronize()

    def _follow(self) -> None:
        """Take over what another process has recorded."""
        if self._shared is not None:
            started().native.set_event_time(self.event_id, self._shared.value)

    @classmethod
    def from_ipc_handle(cls, device: torch.device, handle: bytes) -> EventBase:
        """Make the event from a handle of another process, whose records it follows."""
        check_handle(handle)
        place = torch.device(device)
        if place.type != "cuda":
            raise RuntimeError(f"Event can only be created on CUDA devices, but got device type {place.type}")
        shared = SharedTime.received(handle)
        with torch.cuda.device(place):
            made = cls(interprocess=True)
            made.record(torch.accelerator.current_stream(place))
        made._shared = shared
        return made

    def ipc_handle(self) -> bytes:
        """Return the handle for another process."""
        if not self._between_processes:
            started().native.refuse(INVALID_HANDLE)
        if not self.event_id:
            self.record(torch.accelerator.current_stream())
        if self._shared is None:
            self._shared = SharedTime.made()
            self._shared.value = started().native.event_time(self.event_id)
        return self._shared.handle

    @property
    def device(self) -> torch.device | None:  # type: ignore[override]
        """The device whose stream recorded the event; None before that."""
        return super().device if self.event_id else None

    @property
    def cuda_event(self) -> int:
        """The handle of the event; 0 before it is recorded."""
        return self.event_id

    def elapsed_time(self, other: torch.Event) -> float:
        """Return the milliseconds from this event to another; both must have been made to measure time."""
        if not isinstance(other, EventBase):
            raise RuntimeError("expected other to be a torch.cuda.Event object")
        if not (self._timed and other._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self.event_id and other.event_id):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (self.query() and other.query()):
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        if self.device != other.device:
            started().native.refuse(INVALID_HANDLE)
        return float(started().native.elapsed_time(self.event_id, other.event_id))


def _checked(stream: Any) -> torch.Stream:
    if not isinstance(stream, torch.Stream):
        raise RuntimeError("expected stream to be a torch.Stream or torch.cuda.Stream object")
    if stream.device.type != "cuda":
        raise RuntimeError("Expected stream_.device_type() == DeviceType::CUDA to be true, but got false.")
    return stream


def current(index: int) -> tuple[int, int, int]:
    """Implement ``torch._C._cuda_getCurrentStream``: id, device index and device type."""
    stream = torch.accelerator.current_stream(index)
    return stream.stream_id, stream.device_index, stream.device_type


def default(index: int) -> tuple[int, int, int]:
    """Implement ``torch._C._cuda_getDefaultStream``: id, device index and device type."""
    return 0, *current(index)[1:]


def from_handle(handle: int, index: int) -> tuple[int, int, int]:
    """Implement ``torch._C._cuda_getStreamFromExternal``: a stream around another library's."""
    return handle, *current(index)[1:]


def set_current(**place: Any) -> None:
    """Implement ``torch._C._cuda_setStream``, which makes the stream's device current too."""
    started().native.set_device(place["device_index"])
    torch._C._accelerator_setStream(torch.Stream(**place))


for _class in (StreamBase, EventBase):
    _class.__name__ = _class.__qualname__ = f"_Cuda{_class.__name__}"
    _class.__module__ = "torch._C"

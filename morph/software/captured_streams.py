"""The streams that a thread captures: the one on which it began, and those that wait for events of it."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from typing import NoReturn

import torch

from morph.software.machine import started

Place = tuple[int, int]  # a stream's id and the index of its device


class Branches:
    """The streams of one capture, and how much of each other's work they come after.

    Args:
        first: The stream on which the capture began, and must end.
    """

    def __init__(self, first: Place) -> None:
        self._first = first
        self._before: dict[Place, Counter[Place]] = {first: Counter()}

    def __contains__(self, place: Place) -> bool:
        return place in self._before

    def add_work(self, place: Place) -> None:
        """Note that there is more work on a stream."""
        if place in self._before:
            self._before[place][place] += 1

    def before(self, place: Place) -> Counter[Place] | None:
        """Return what an event comes after that is recorded on a stream; None if that is not captured."""
        return self._before[place].copy() if place in self._before else None

    def wait(self, place: Place, before: Counter[Place]) -> None:
        """Let a stream come after what an event does, which makes the stream a part of the capture."""
        self._before[place] = self._before.get(place, Counter()) | before

    def are_joined(self) -> bool:
        """Return whether the first stream comes after the work of all others."""
        end = self._before[self._first]
        return all(before[place] <= end[place] for place, before in self._before.items())


class _Capturing(threading.local):
    branches: Branches | None = None
    _stream: torch.Stream | None = None

    @property
    def stream(self) -> torch.Stream | None:
        return self._stream

    @stream.setter
    def stream(self, stream: torch.Stream | None) -> None:
        place = None if stream is None else _place(stream)
        self._stream = stream
        self.branches = None if place is None else Branches(place)
        started().native.capture_stream(place)


capturing = _Capturing()  # the stream whose work this thread captures into a graph, and the others


class Mark:
    """Where an event was recorded.

    Args:
        stream: The stream.
    """

    def __init__(self, stream: torch.Stream) -> None:
        self._branches = capturing.branches
        self._before = None if self._branches is None else self._branches.before(_place(stream))

    def is_captured(self) -> bool:
        """Return whether the event is in a graph, so that the program never sees it happen."""
        return self._before is not None

    def wait(self, stream: torch.Stream) -> None:
        """Make a stream come after the event."""
        if capturing.branches is None:
            return
        if self._before is not None and self._branches is capturing.branches:
            capturing.branches.wait(_place(stream), self._before)
        elif is_captured(stream):
            refuse("dependency created on uncaptured work in another stream")


def is_captured(stream: torch.Stream) -> bool:
    """Return whether a stream's work is being captured into a graph."""
    return capturing.branches is not None and _place(stream) in capturing.branches


def note_work() -> None:
    """Note that this thread's current stream has more work in the capture.

    A backward pass joins the streams that it uses by itself.
    """
    if capturing.branches is not None and torch._C._current_graph_task_id() == -1:
        capturing.branches.add_work(_place(torch.accelerator.current_stream()))


def refuse(reason: str) -> NoReturn:
    """Raise an error of the runtime, which makes the capture of this thread invalid.

    Args:
        reason: The runtime's words.
    """
    with contextlib.suppress(RuntimeError):
        started().native.refuse_in_capture()
    raise torch.AcceleratorError(f"{started().quirks.title} error: {reason}")


def _place(stream: torch.Stream) -> Place:
    return stream.stream_id, stream.device_index

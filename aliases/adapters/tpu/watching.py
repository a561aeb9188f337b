"""What makes a program slow on a TPU, which it is told once each: new shapes, and waits for numbers.

XLA compiles each operator anew for each shape. ``Tensor.item()`` waits for the device.
"""

from __future__ import annotations

import collections
import dataclasses
import importlib
import os
import pathlib
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from types import FrameType

import morph
from morph.base.announcement import report
from morph.base.journal import Journal
from morph.device.seam import Seam

WARM = 60.0  # seconds from the first compilation, in which a program meets its shapes
WINDOW = 30.0  # seconds that are judged together
INTERVAL = 0.5  # seconds between two looks
MORPHS = (morph.__path__[0], *(os.path.join(morph.__path__[-1], name) for name in ("aliases", "finders")))
LIBRARIES = (sysconfig.get_path("purelib"), sysconfig.get_path("stdlib"), "<frozen", *MORPHS)


@dataclasses.dataclass(frozen=True)
class Habit:
    """What a program should not do again and again.

    Attributes:
        seen: Returns how often it was done so far, and the thread that does it now, or 0.
        line: What is said of it, with places for ``{count}``, ``{seconds}`` and ``{lines}``.
        advice: What to do instead.
    """

    seen: Callable[[], tuple[int, int]]
    line: str
    advice: str


def compiling(compiled: Callable[[], int]) -> Habit:
    """Return the habit of compiling, which the main thread is taken to do.

    Args:
        compiled: Returns how many programs XLA has compiled for this process.
    """
    main = threading.main_thread().ident or 0
    return Habit(
        lambda: (compiled(), main),
        "XLA compiled {count} operators for new shapes in {seconds:.0f} s, at {lines}",
        "pad or bucket what varies, and give the data loader drop_last=True: each shape is compiled once",
    )


def waiting(waits: Callable[[], tuple[int, int]]) -> Habit:
    """Return the habit of waiting for numbers of the device's.

    Args:
        waits: ``Seam.waits``.
    """
    return Habit(
        waits,
        "most of {seconds:.0f} s were spent waiting for {count} numbers of the device's, at {lines}",
        "ask for them every hundredth step (.item(), float(loss), if loss > 1), and add up on the device",
    )


def watch(seam: Seam, journal: Journal) -> None:
    """Look at a program's habits from a thread, until each was told or the program ends.

    Args:
        seam: Counts the waits.
        journal: Records what to stop.
    """
    backend = importlib.import_module("torch_tpu._internal.device")._device_ops_backend
    seam.count_waits()
    compiled = compiling(lambda: backend._get_cache_misses() if backend._is_initialized() else 0)
    watcher = Watcher([compiled, waiting(seam.waits)])
    journal.on_undo(watcher.stop)
    watcher.start()


class Watcher(threading.Thread):
    """Says a line when a program has a habit in most of a window's looks, with the lines that it was at.

    It is no daemon, so that it has ended before torch_tpu's runtime does: its count ends the process then.

    Args:
        habits: What is looked for.
        warm: Seconds from the first sign of the first habit in which nothing is said.
        window: Seconds that are judged together.
        interval: Seconds between two looks.
    """

    def __init__(
        self, habits: list[Habit], warm: float = WARM, window: float = WINDOW, interval: float = INTERVAL
    ) -> None:
        super().__init__(name="morph: habits", daemon=False)
        self._habits, self._warm, self._window, self._interval = habits, warm, window, interval
        self._main, self._is_stopped = threading.main_thread(), False

    def stop(self) -> None:
        """Say nothing any more."""
        self._is_stopped = True

    def run(self) -> None:
        """Look until each habit was told, the program ends, or the watcher is stopped."""
        while not self._habits[0].seen()[0]:
            if self._ends_within(self._interval):
                return
        ended = self._ends_within(self._warm)
        while self._habits and not ended:
            windows = [Window(habit) for habit in self._habits]
            ended = self._looks_through(windows)
            if not ended:
                self._habits = [each.habit for each in windows if not each.says(self._window)]

    def _looks_through(self, windows: list[Window]) -> bool:
        """Look for the length of a window; return whether the program ended."""
        begun = time.monotonic()
        while time.monotonic() - begun < self._window:
            if self._ends_within(self._interval):
                return True
            for each in windows:
                each.look()
        return False

    def _ends_within(self, seconds: float) -> bool:
        self._main.join(seconds)
        return self._is_stopped or not self._main.is_alive()


class Window:
    """What was seen of a habit in some seconds.

    Args:
        habit: It.
    """

    def __init__(self, habit: Habit) -> None:
        self.habit = habit
        self._looks, self._places = 0, collections.Counter[str]()
        self._first = self._before = habit.seen()[0]

    def look(self) -> None:
        """Note the line of the program, if it is at it now and has done it since the last look."""
        count, thread = self.habit.seen()
        self._looks += 1
        if thread and count > self._before:
            self._places[_place(thread)] += 1
        self._before = count

    def says(self, seconds: float) -> bool:
        """Tell the program if it was at it in most looks; return whether it was told."""
        if self._places.total() * 2 < self._looks:
            return False
        lines = ", ".join(place for place, _ in self._places.most_common(3))
        count = self._before - self._first
        report(self.habit.line.format(count=count, seconds=seconds, lines=lines))
        report(self.habit.advice)
        return True


def _place(thread: int) -> str:
    """Return the line of the program that a thread is at: "train.py:41"."""
    frame = sys._current_frames().get(thread)
    while frame is not None and frame.f_code.co_filename.startswith(LIBRARIES):
        frame = frame.f_back
    return _named(frame) if frame is not None else "torch's own threads"


def _named(frame: FrameType) -> str:
    return f"{pathlib.Path(frame.f_code.co_filename).name}:{frame.f_lineno}"

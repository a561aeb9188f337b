"""What XLA compiles: each operator anew for each shape. A program that keeps compiling is told so once."""

from __future__ import annotations

import collections
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

WARM = 60.0  # seconds from the first compilation, in which a program meets its shapes
WINDOW = 30.0  # seconds over which compilations are set against the time
INTERVAL = 0.5  # seconds between two looks
MORPHS = (morph.__path__[0], *(os.path.join(morph.__path__[-1], name) for name in ("aliases", "finders")))
LIBRARIES = (sysconfig.get_path("purelib"), sysconfig.get_path("stdlib"), "<frozen", *MORPHS)


def watch(journal: Journal) -> None:
    """Look at torch_tpu's count of compilations from a thread, until a line was said or the program ends.

    Args:
        journal: Records what to stop.
    """
    backend = importlib.import_module("torch_tpu._internal.device")._device_ops_backend
    watcher = Watcher(lambda: backend._get_cache_misses() if backend._is_initialized() else 0)
    journal.on_undo(watcher.stop)
    watcher.start()


class Watcher(threading.Thread):
    """Says a line when a program compiles in most of a window's looks, with the lines that it was at.

    It is no daemon, so that it has ended before torch_tpu's runtime does: its count ends the process then.

    Args:
        compiled: Returns how many programs XLA has compiled for this process.
        warm: Seconds from the first compilation in which nothing is said.
        window: Seconds that are judged together.
        interval: Seconds between two looks.
    """

    def __init__(
        self,
        compiled: Callable[[], int],
        warm: float = WARM,
        window: float = WINDOW,
        interval: float = INTERVAL,
    ) -> None:
        super().__init__(name="morph: compilations", daemon=False)
        self._compiled, self._warm, self._window, self._interval = compiled, warm, window, interval
        self._main, self._is_stopped = threading.main_thread(), False

    def stop(self) -> None:
        """Say nothing any more."""
        self._is_stopped = True

    def run(self) -> None:
        """Look until a line was said, the program ends, or the watcher is stopped."""
        while not self._compiled():
            if self._ends_within(self._interval):
                return
        if not self._ends_within(self._warm):
            while not self._says_of_a_window():
                pass

    def _ends_within(self, seconds: float) -> bool:
        self._main.join(seconds)
        return self._is_stopped or not self._main.is_alive()

    def _says_of_a_window(self) -> bool:
        """Look for the length of a window; return whether that was the last one."""
        places: collections.Counter[str] = collections.Counter()
        begun, looks, first = time.monotonic(), 0, self._compiled()
        before = first
        while time.monotonic() - begun < self._window:
            if self._ends_within(self._interval):
                return True
            looks, now = looks + 1, self._compiled()
            if now > before:
                places[self._place()] += 1
            before = now
        if places.total() * 2 < looks:
            return False
        _say(before - first, self._window, places)
        return True

    def _place(self) -> str:
        """Return the line of the program that the main thread is at: "train.py:41"."""
        frame = sys._current_frames().get(self._main.ident or 0)
        while frame is not None and frame.f_code.co_filename.startswith(LIBRARIES):
            frame = frame.f_back
        return _named(frame) if frame is not None else "torch's own threads"


def _named(frame: FrameType) -> str:
    return f"{pathlib.Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def _say(count: int, seconds: float, places: collections.Counter[str]) -> None:
    lines = ", ".join(place for place, _ in places.most_common(3))
    report(f"XLA compiled {count} operators for new shapes in {seconds:.0f} s, at {lines}")
    report("pad or bucket what varies, and give the data loader drop_last=True: each shape is compiled once")

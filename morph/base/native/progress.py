"""The progress of a build for a person: a bar on a terminal; else lines at its start, end and in between."""

from __future__ import annotations

import contextlib
import pathlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from morph.base.announcement import report
from morph.base.display import console
from morph.base.native import turns

INTERVAL = 30.0  # seconds between two lines
PAUSE = 0.2  # seconds between two looks at another process's build


class Progress:
    """The progress of one build, for the user and for the processes that wait for it.

    Args:
        folder: The folder that is built in.
        total: How many units are compiled.
    """

    def __init__(self, folder: pathlib.Path, total: int) -> None:
        self._folder = folder
        self._total, self._done = total, 0

    def __enter__(self) -> Progress:
        import torch

        turns.publish(self._folder, self._done, self._total)
        report(f"compiling its C++ parts for torch {torch.__version__}, once, about a minute")
        report("`morph build` beforehand, or a wheel that holds them, avoids this")
        self._display = _Display("compiling", self._total)
        return self

    def advance(self) -> None:
        """Count one more unit."""
        self._done += 1
        turns.publish(self._folder, self._done, self._total)
        self._display.show(self._done)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        turns.end(self._folder)
        self._display.end("compiled them" if kind is None else "")


@contextlib.contextmanager
def waiting(folder: pathlib.Path) -> Iterator[None]:
    """Show the progress of another process's build for as long as this one waits for it.

    Args:
        folder: The folder that is built in.
    """
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(folder, ended), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _watch(folder: pathlib.Path, ended: threading.Event) -> None:
    report(f"waiting for {turns.builder(folder)}, which compiles its C++ parts")
    display = _Display("waiting", turns.status(folder).get("total", 0))
    while not ended.wait(PAUSE):
        with contextlib.suppress(OSError):
            turns.ask(folder)
        display.show(turns.status(folder).get("done", 0))
    display.end()


class _Display:
    """A bar on a terminal, else lines.

    Args:
        verb: What the bar is called.
        total: Where it ends.
    """

    def __init__(self, verb: str, total: int) -> None:
        self._begun = self._said = time.monotonic()
        self._total = total
        self._bar = _bar(verb, total)

    def show(self, done: int) -> None:
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done)
        elif time.monotonic() - self._said >= INTERVAL:
            self._said = time.monotonic()
            report(f"{done} of {self._total} compiled after {self._seconds()} s")

    def end(self, outcome: str = "") -> None:
        if self._bar is not None:
            self._bar.stop()
        if outcome:
            report(f"{outcome} in {self._seconds()} s")

    def _seconds(self) -> int:
        return round(time.monotonic() - self._begun)


def _bar(verb: str, total: int) -> Any:
    """Return a started bar, or None where standard error is no terminal."""
    if not (sys.stderr and sys.stderr.isatty()):
        return None
    from rich import progress  # takes 60 ms

    columns = (
        progress.TextColumn("morph: {task.description}"),
        progress.BarColumn(20),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
    )
    bar = progress.Progress(*columns, console=console(sys.stderr), transient=True)
    bar.add_task(verb, total=total)
    bar.start()
    return bar

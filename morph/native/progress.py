"""What a person sees of a build: a bar on a terminal; else lines at its start, its end and in between."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from morph.announcement import report
from morph.display import console

STATUS = "build.json"  # in the folder that is built in, for those that wait
INTERVAL = 30.0  # seconds between two lines
PAUSE = 0.2  # seconds between two looks at another process's build
AVOIDED = "`morph build` does it ahead of time, and a wheel with compiled parts needs no compiler"


class Progress:
    """The progress of one build, for the user and for the processes that wait for it.

    Args:
        folder: The folder that is built in.
        total: How many units are compiled.
    """

    def __init__(self, folder: pathlib.Path, total: int) -> None:
        self._path = folder / STATUS
        self._total, self._done = total, 0

    def __enter__(self) -> Progress:
        import torch

        self._publish()
        report(f"compiling its C++ parts for torch {torch.__version__}, once; this takes about a minute")
        report(AVOIDED)
        self._display = _Display("compiling", self._total)
        return self

    def advance(self) -> None:
        """Count one more unit."""
        self._done += 1
        self._publish()
        self._display.show(self._done)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._path.unlink(missing_ok=True)
        self._display.end("compiled them" if kind is None else "")

    def _publish(self) -> None:
        status = {"pid": os.getpid(), "done": self._done, "total": self._total}
        partial = self._path.with_suffix(".partial")
        partial.write_text(json.dumps(status))
        os.replace(partial, self._path)


@contextlib.contextmanager
def waiting(folder: pathlib.Path) -> Iterator[None]:
    """Show the progress of another process's build for as long as this one waits for it.

    Args:
        folder: The folder that is built in.
    """
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(folder / STATUS, ended), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _watch(path: pathlib.Path, ended: threading.Event) -> None:
    status = _status(path)
    report(f"waiting for {_builder(status)}, which compiles its C++ parts")
    display = _Display("waiting", status.get("total", 0))
    while not ended.wait(PAUSE):
        display.show(_status(path).get("done", 0))
    display.end()


def _status(path: pathlib.Path) -> dict[str, int]:
    try:
        status: dict[str, int] = json.loads(path.read_text())
    except (OSError, ValueError):  # it begins, or has ended
        return {}
    return status


def _builder(status: dict[str, int]) -> str:
    """Return the words for the process that builds: one of low priority may take long on a busy machine."""
    try:
        pid = status["pid"]
        niceness = os.getpriority(os.PRIO_PROCESS, pid)
    except (KeyError, OSError):
        return "another process"
    return f"process {pid}" + (f" (of low priority, nice {niceness})" if niceness > 0 else "")


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

"""Whose turn it is to build, and how far it is: a process of low priority gives way to one of a higher."""

from __future__ import annotations

import json
import os
import pathlib

from morph.base.errors import MorphError

_STATUS = "build.json"  # who builds, for those that wait
_WANTED = "build.wanted"  # the niceness of a process that waits for the one that builds


class GivesWay(MorphError):
    """A process of higher priority waits; what was compiled so far is kept."""


def begin(folder: pathlib.Path) -> None:
    """Begin a turn: who still waits says so again."""
    (folder / _WANTED).unlink(missing_ok=True)


def ask(folder: pathlib.Path) -> None:
    """Say that this process waits."""
    (folder / _WANTED).write_text(str(_niceness()))


def check(folder: pathlib.Path) -> None:
    """Raise ``GivesWay`` if a process of higher priority waits."""
    try:
        asked = int((folder / _WANTED).read_text())
    except (OSError, ValueError):  # nobody does, or it is being written
        return
    if asked < _niceness():
        raise GivesWay("a process of higher priority builds first")


def publish(folder: pathlib.Path, done: int, total: int) -> None:
    """Say how far this process's build is.

    Args:
        folder: The folder that is built in.
        done: How many units are compiled.
        total: How many there are.
    """
    partial = folder / f"{_STATUS}.partial"
    partial.write_text(json.dumps({"pid": os.getpid(), "done": done, "total": total}))
    os.replace(partial, folder / _STATUS)


def end(folder: pathlib.Path) -> None:
    """Say that this process builds no longer."""
    (folder / _STATUS).unlink(missing_ok=True)


def status(folder: pathlib.Path) -> dict[str, int]:
    """Return what the process that builds has published; empty where it begins, has ended, or was killed."""
    try:
        found: dict[str, int] = json.loads((folder / _STATUS).read_text())
        os.getpriority(os.PRIO_PROCESS, found["pid"])
    except (OSError, ValueError):
        return {}
    return found


def builder(folder: pathlib.Path) -> str:
    """Return the words for the process that builds: one of low priority may take long on a busy machine."""
    pid = status(folder).get("pid")
    if pid is None:
        return "another process"
    niceness = os.getpriority(os.PRIO_PROCESS, pid)
    return f"process {pid}" + (f" (of low priority, nice {niceness})" if niceness > 0 else "")


def _niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, 0)

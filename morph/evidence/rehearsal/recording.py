"""Records the CUDA names that a program's processes use, where and how often, and how each process ends."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from types import CodeType, FrameType, TracebackType
from typing import Any

from morph.base.errors import BuildError

MORPH = pathlib.Path(__file__).parents[2]
OWN = tuple(f"{folder}{os.sep}" for folder in (MORPH, MORPH.parent / "finders", MORPH.parent / "aliases"))
IMPORTING = "<frozen importlib"
FEW = 100
"""Up to this number each name is written at once, later ones in lots: pynvml's star import uses 2,300."""


@dataclass
class Use:
    """The use of one CUDA name by a program.

    Attributes:
        name: The dotted name, ``torch.cuda.memory_allocated``.
        count: The number of uses.
        file: The file of the first use.
        line: The line of the first use.
    """

    name: str
    count: int
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Ending:
    """The exception or exit status that ended a process.

    Attributes:
        error: The exception's type, ``"ValueError"``; ``"SystemExit"`` for an exit status.
        message: Its first line, or the exit status.
        file: The file of the line that raised it, in the program or one of its libraries; empty if unknown.
        line: The number of that line.
    """

    error: str
    message: str
    file: str = ""
    line: int = 0


class Rehearsal:
    """Records the CUDA names that a process of a program uses; called with each name.

    Uses by torch itself are not recorded. The record is kept in a file for each process, rewritten with new
    names: a process may end without a chance to write it.

    Args:
        folder: The folder for the records of the program's processes.
        operators: Returns how often each operator reached the device under CUDA's name.
    """

    def __init__(self, folder: pathlib.Path, operators: Callable[[], Mapping[str, int]]) -> None:
        self._folder = folder
        self._operators = operators
        self._lock = threading.Lock()
        self._ending: Ending | None = None
        self._begin()
        os.register_at_fork(after_in_child=self._begin_child)

    def __call__(self, name: str) -> None:
        """Record one use, and the location of the first."""
        frame = _asking_frame()
        if frame is None or not _is_spelled(name, frame.f_code):
            return
        with self._lock:
            place = (frame.f_code.co_filename, frame.f_lineno)
            use = self._uses.setdefault(name, Use(name, 0, *place))
            use.count += 1
        if use.count == 1 and (len(self._uses) <= FEW or len(self._uses) % FEW == 0):
            self.save()

    @property
    def ending(self) -> Ending | None:
        """The exception or exit status that ends the process, if any."""
        return self._ending

    def ended_by(self, error: BaseException) -> None:
        """Record the exception that ends the process."""
        self._ending = ending(error)

    def save(self) -> None:
        """Write the record."""
        shown = getattr(sys, "last_value", None)
        if self._ending is None and isinstance(shown, Exception):
            self.ended_by(shown)
        with self._lock:
            record = {
                "process": os.getpid(),
                "uses": [asdict(use) for use in self._uses.values()],
                "operators": self._operated(),
                "ending": asdict(self._ending) if self._ending else None,
            }
        part = self._file.with_suffix(".part")
        with contextlib.suppress(FileNotFoundError):  # the first process has ended, and reported
            part.write_text(json.dumps(record), encoding="utf-8")
            part.replace(self._file)

    def _begin(self) -> None:
        self._uses: dict[str, Use] = {}
        self._file = self._folder / f"{time.time_ns()}-{os.getpid()}.json"
        self._inherited: dict[str, int] = {}

    def _begin_child(self) -> None:
        from multiprocessing import util

        self._lock = threading.Lock()
        self._begin()
        self._inherited = dict(self._operators())
        # a forked child of multiprocessing runs its own exit functions, not atexit's
        util.register_after_fork(self, _save_at_exit)

    def _operated(self) -> dict[str, int]:
        counts = {name: count - self._inherited.get(name, 0) for name, count in self._operators().items()}
        return {name: count for name, count in counts.items() if count}


def _save_at_exit(rehearsal: Rehearsal) -> None:
    from multiprocessing import util

    util.Finalize(None, rehearsal.save, exitpriority=0)


def ending(error: BaseException) -> Ending | None:
    """Return the record of an error that ends a process; None if it ends well.

    That a part of the simulated device does not build says nothing about the program.
    """
    if isinstance(error, BuildError):
        return Ending("NotSimulatedError", str(error))
    if isinstance(error, SystemExit):
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
        return Ending("SystemExit", str(status)) if status else None
    message = str(error).partition("\n")[0]
    return Ending(type(error).__name__, message, *_origin(error.__traceback__))


def _origin(traceback: TracebackType | None) -> tuple[str, int]:
    """Return the innermost line outside morph and torch."""
    place = ("", 0)
    while traceback is not None:
        if _is_the_programs(traceback.tb_frame):
            place = (traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return place


def _asking_frame() -> FrameType | None:
    """Return the frame that uses a name of a served module, or imports one, if it is the program's."""
    called = sys._getframe(2)
    frame = called.f_back  # a C thread has none
    while frame is not None and called.f_code.co_name == "find_spec" and _is_of_importlib(frame):
        frame = frame.f_back
    return frame if frame is not None and _is_the_programs(frame) else None


def _is_spelled(name: str, code: CodeType) -> bool:
    """Return whether code asks for a name itself, not torch's C++ code that it called.

    That has no frame of its own. What it asks for is private, like ``torch.cuda._lazy_init``, and code that
    asks for a private name spells it.
    """
    last = name.rpartition(".")[2]
    return not last.startswith("_") or last in code.co_names or last in code.co_consts


def _is_of_importlib(frame: FrameType) -> bool:
    name = str(frame.f_globals.get("__name__"))
    return frame.f_code.co_filename.startswith(IMPORTING) or name.partition(".")[0] == "importlib"


def _is_the_programs(frame: FrameType) -> bool:
    """Return whether a frame belongs to the program or to one of its libraries.

    Adapters use names too, and so do torch and the import system, for each name imported from a module.
    """
    if frame.f_code.co_filename.startswith((*OWN, IMPORTING)):
        return False
    return str(frame.f_globals.get("__name__")).partition(".")[0] != "torch"


def records(folder: pathlib.Path) -> list[dict[str, Any]]:
    """Read the records of a program's processes, the oldest process first."""
    files = sorted(folder.glob("*.json"), key=lambda file: int(file.name.partition("-")[0]))
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]

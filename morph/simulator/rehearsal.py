"""What a program asked of CUDA while it ran on a simulated device, as a table."""

from __future__ import annotations

import os
import pathlib
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import IO

from morph.aliases.table import Status, Table

ROOT = pathlib.Path(__file__).parent.parent
# Frames of these stand between a program and the name it asked for.
BETWEEN = (
    "<frozen",
    *(f"{folder}{os.sep}" for folder in (ROOT, ROOT.parent / "finders", ROOT.parent / "aliases")),
)


@dataclass
class Use:
    """How a program used one CUDA name.

    Attributes:
        name: The dotted name, ``torch.cuda.memory_allocated``.
        count: How often it was asked for.
        file: Where it was asked for first.
        line: The line there.
    """

    name: str
    count: int
    file: str
    line: int


class Rehearsal:
    """Records the CUDA names that a program and its libraries ask for; call it with each name.

    What torch itself asks for is not the program's doing.
    """

    def __init__(self) -> None:
        self._uses: dict[str, Use] = {}
        self._lock = threading.Lock()

    def __call__(self, name: str) -> None:
        """Records one request, and at the first one where it came from."""
        frame = _asking_frame()
        if frame is None or _belongs_to_torch(frame):
            return
        with self._lock:
            place = (frame.f_code.co_filename, frame.f_lineno)
            self._uses.setdefault(name, Use(name, 0, *place)).count += 1

    def __iter__(self) -> Iterator[Use]:
        return iter(list(self._uses.values()))


def _asking_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(BETWEEN):
        frame = frame.f_back
    return frame


def _belongs_to_torch(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == "torch"


WIDTH = 140  # columns, where there is no terminal to ask
STOPS = Status.MISSING
DIFFERS = (Status.EMULATED, Status.NOOP)


def status_of(name: str, table: Table) -> Status:
    """Gives the status of a CUDA name; what no row decides is the same."""
    row = table.row(name)
    return row.status if row else Status.SAME


def verdict(rehearsal: Rehearsal, table: Table) -> str:
    """Says in one line what the program would do on the real device.

    Args:
        rehearsal: What it asked for.
        table: The vendor's alias table.

    Returns:
        The line.
    """
    statuses = [(use, status_of(use.name, table)) for use in rehearsal]
    title = table.facts.title
    stops = [use for use, status in statuses if status is STOPS]
    if stops:
        first = stops[0]
        return f"on {title} it would stop at {first.name} ({first.file}:{first.line})"
    differing = [use.name for use, status in statuses if status in DIFFERS]
    if differing:
        return f"on {title} it would run, with differences in {', '.join(sorted(differing))}"
    return f"on {title} it would run"


def report(rehearsal: Rehearsal, table: Table, file: IO[str] | None = None) -> None:
    """Prints every CUDA name that the program touched, and the verdict.

    Args:
        rehearsal: What the program asked for.
        table: The vendor's alias table.
        file: Where to; standard error unless given.
    """
    import rich.console
    import rich.table

    shown = rich.table.Table(box=None, pad_edge=False)
    for column in ("name", "count", "first use", "status"):
        shown.add_column(column, no_wrap=True)
    shown.add_column("note")
    for use in sorted(rehearsal, key=lambda use: use.name):
        row = table.row(use.name)
        place = f"{_short(use.file)}:{use.line}"
        shown.add_row(
            use.name, str(use.count), place, status_of(use.name, table).value, row.note if row else ""
        )
    console = rich.console.Console(file=file or sys.stderr, highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    console.print(shown)
    console.print(verdict(rehearsal, table), style="bold", soft_wrap=True)


def _short(file: str) -> str:
    path = pathlib.Path(file)
    return str(path.relative_to(pathlib.Path.cwd())) if path.is_relative_to(pathlib.Path.cwd()) else path.name

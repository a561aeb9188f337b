# don't import any costly modules: a start-up file reaches this one
"""morph's messages: one line at start, on standard error."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from morph.backends import Backend
    from morph.base.journal import Journal
    from morph.device.seam import Seam

ANNOUNCED = "MORPH_ANNOUNCED"  # what this family of processes has said, in words
CHOICE = "1"
QUIET = "MORPH_QUIET"

is_in_header = False  # whether pytest's header says what CUDA is


def launcher() -> str:
    """Return how a person starts morph: as this process was started, else by ``python -m morph``."""
    return "morph" if [*map(os.path.basename, sys.orig_argv[1:2])] == ["morph"] else "python -m morph"


def announce(
    backend: Backend, seam: Seam | None, journal: Journal, count_devices: Callable[[Backend], int]
) -> None:
    """Report the chosen backend and its devices, in the first process of a family only."""
    if not was_announced(CHOICE):
        journal.set_item(os.environ, ANNOUNCED, _announced_with(CHOICE))
        report_choice(summary(backend, seam, count_devices))


def report_choice(line: str) -> None:
    """Report what was chosen, unless the user wants morph to be quiet, or pytest's header says it."""
    if os.environ.get(QUIET, "0") == "0" and not is_in_header:
        report(line)


def report_in_first_process(line: str) -> None:
    """Report a line in the first process of a family only, since its children would repeat it."""
    if not was_announced(CHOICE):
        report(line)


def report_once(word: str, line: str) -> None:
    """Report a line in one process of a family only.

    It adds to the variable that is there, since a program may refuse that an import sets another.

    Args:
        word: What the children recognise the line by.
        line: The line.
    """
    if not was_announced(word):
        os.environ[ANNOUNCED] = _announced_with(word)
        report(line)


def forget(words: Container[str]) -> None:
    """Let lines be reported again."""
    kept = [word for word in os.environ.pop(ANNOUNCED, "").split() if word not in words]
    if kept:
        os.environ[ANNOUNCED] = " ".join(kept)


def was_announced(word: str) -> bool:
    """Return whether a process of this family has said what ``word`` stands for."""
    return word in os.environ.get(ANNOUNCED, "").split()


def _announced_with(word: str) -> str:
    return f"{os.environ.get(ANNOUNCED, '')} {word}".strip()


def report(line: str) -> None:
    """Print one line from morph on standard error; where that cannot be written, there is none."""
    try:
        _write(f"morph: {line}\n")
    except Exception:  # a full disk, a reader that has gone, a stream of the program's own
        return


def _write(text: str) -> None:
    stream = sys.stderr
    if stream is None:  # it was closed
        return
    raw = getattr(getattr(stream, "buffer", None), "raw", None) if stream is sys.__stderr__ else None
    if raw is None:
        stream.write(text)
    stream.flush()
    if raw is not None:  # what a buffer keeps fails once more when Python ends, with status 120
        raw.write(text.encode(stream.encoding, stream.errors or "strict"))


def say_inactive(error: Exception) -> None:
    """Report, in one line on standard error, why morph is not active in this process."""
    kind = type(error)
    reason = str(error) if kind.__module__ == "morph.base.errors" else f"{kind.__name__}: {error}"
    report(f"not active in this process: {reason}")


def summary(backend: Backend, seam: Seam | None, count_devices: Callable[[Backend], int]) -> str:
    """Return what CUDA is, in a line."""
    count = count_devices(backend)
    devices = "1 device" if count == 1 else f"{count} devices"
    kind = "simulated, " if backend.simulated else ""
    seams = "" if seam is None or seam.kind == "native" else ", without the native seam"
    return f"cuda is {backend.name} ({backend.table.facts.title}, {kind}{devices}{seams})"

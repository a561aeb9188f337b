"""The records of a program's processes, in a folder whose name they all inherit."""

from __future__ import annotations

import atexit
import os
import pathlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from morph import activation
from morph.base import private
from morph.base.variables import RECORDS
from morph.evidence.rehearsal.recording import Rehearsal, records

Tell = Callable[[list[dict[str, Any]], Rehearsal], None]


@contextmanager
def recorded(tell: Tell) -> Iterator[Rehearsal]:
    """Record the CUDA names used inside the ``with`` block.

    A process started by another recording leaves its record there, and does not call ``tell``.

    Args:
        tell: Called with the records of all processes, and this process's recorder, when this process ends.
    """
    is_first = RECORDS not in os.environ
    if is_first:
        os.environ[RECORDS] = tempfile.mkdtemp(prefix="morph-rehearsal-", dir=private.temporary_place())
    rehearsal = Rehearsal(pathlib.Path(os.environ[RECORDS]), operators)
    if is_first:
        atexit.register(_tell, tell, rehearsal, os.getpid())
    else:
        atexit.register(_save, rehearsal)
    try:
        yield rehearsal
    except BaseException as error:
        rehearsal.ended_by(error)
        raise


def observer() -> Rehearsal | None:
    """Return the recorder of the names that a child process uses; None where nothing is recorded."""
    folder = os.environ.get(RECORDS)
    if not folder or not os.path.isdir(folder):
        return None
    rehearsal = Rehearsal(pathlib.Path(folder), operators)
    atexit.register(_save, rehearsal)
    return rehearsal


def operators() -> dict[str, int]:
    """Return how often each operator reached the device under CUDA's name in this process."""
    return activation.status().caught or {}


def _tell(tell: Tell, rehearsal: Rehearsal, process: int) -> None:
    if os.getpid() != process:  # a fork that ended by running this process's code
        return
    _save(rehearsal)
    folder = pathlib.Path(os.environ.pop(RECORDS))
    every = records(folder)
    shutil.rmtree(folder, ignore_errors=True)
    if every:
        tell(every, rehearsal)


def _save(rehearsal: Rehearsal) -> None:
    if (
        "torch" not in sys.modules or activation.status().active
    ):  # else the device did not start, and reported the reason
        rehearsal.save()

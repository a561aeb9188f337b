"""The folders that built libraries are kept in, and the check that one of them may be loaded.

A library is loaded only if nobody else can change it (``morph.base.private``), and if its size and digest are
those in the record beside it, ``LIBRARY.digest``, which is written last.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from morph.base import private
from morph.base.importing import own_imports

OBJECTS = "objects"  # the folder of what builds have compiled and not linked yet
PATIENCE = 0.5  # seconds that a process waits for another one's build before it says so


def folders() -> list[pathlib.Path]:
    """Return the folders to keep libraries in, the preferred one first; they may not exist."""
    return private.folders("native")


def is_sound(library: pathlib.Path) -> bool:
    """Return whether the library is there, whole, and could have been written by nobody else."""
    try:
        return private.read(_record(library)).decode() == _digest(private.read(library))
    except (OSError, ValueError):
        return False


def keep(built: pathlib.Path, library: pathlib.Path) -> None:
    """Copy a built library to its place, and write its record, so that a crash leaves no unsound one."""
    private.prepare(library.parent)
    content = built.read_bytes()
    _record(library).unlink(missing_ok=True)
    private.write(library, content, mode=0o700)
    private.write(_record(library), _digest(content).encode())
    _sync(library.parent)


def copies(
    library: pathlib.Path, place: pathlib.Path, known: Sequence[pathlib.Path]
) -> Iterator[pathlib.Path]:
    """Copy a library into the folders that have none, one by one, and yield the copies.

    Args:
        library: The library.
        place: Where it lies in a folder.
        known: The paths of those that are there already.
    """
    for folder in folders():
        if folder / place not in known:
            with contextlib.suppress(OSError):  # no place left, or nothing can be written
                keep(library, folder / place)
                yield folder / place


@contextlib.contextmanager
def locked(path: pathlib.Path, waiting: Callable[[], AbstractContextManager[object]]) -> Iterator[None]:
    """Let one process at a time build something; the kernel ends the lock of a process that dies.

    Args:
        path: What is built; its lock lies beside it.
        waiting: Called if another process builds it; the result is entered until that one has ended.

    Raises:
        OSError: If others can change the folder, or nothing can be written there.
    """
    private.ensure(path.parent)
    with own_imports:
        import filelock  # which takes 90 ms, and a library that is kept needs none
    lock = filelock.FileLock(f"{path}.lock")
    try:
        lock.acquire(timeout=PATIENCE)
    except filelock.Timeout:
        with waiting():
            lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _record(library: pathlib.Path) -> pathlib.Path:
    return library.with_name(library.name + ".digest")


def _digest(content: bytes) -> str:
    return f"{len(content)} {hashlib.sha256(content).hexdigest()}\n"


def _sync(folder: pathlib.Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""The folders that built libraries are kept in, and the check that one of them may be loaded.

A library is loaded only if it is a file of the user's that nobody else can write, and if its size and digest
are those in the record beside it, ``LIBRARY.digest``, which is written last.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

import platformdirs

from morph import variables

OBJECTS = "objects"  # the folder of what builds have compiled and not linked yet
PATIENCE = 0.5  # seconds that a process waits for another one's build before it says so


def folders() -> list[pathlib.Path]:
    """Return the folders to keep libraries in, the preferred one first; they may not exist."""
    user = pathlib.Path(variables.read(variables.CACHE) or platformdirs.user_cache_path("morph"))
    return [user / "native", pathlib.Path(tempfile.gettempdir()) / f"morph-native-{os.getuid()}"]


def prepare(folder: pathlib.Path) -> None:
    """Create a folder of the cache.

    Raises:
        OSError: If it cannot be created or written, or if somebody else can write it.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_ours(folder):
        raise PermissionError(None, "others can write here")
    with tempfile.TemporaryFile(dir=folder):  # os.access says yes to root on a read-only file system
        pass


def is_sound(library: pathlib.Path) -> bool:
    """Return whether the library is there, whole, and could have been written by nobody else."""
    try:
        record = _record(library).read_text(encoding="utf-8")
        return _is_ours(library.parent) and _is_ours(library) and record == _digest(library)
    except (OSError, ValueError):
        return False


def keep(built: pathlib.Path, library: pathlib.Path) -> None:
    """Copy a built library to its place, and write its record, so that a crash leaves no unsound one."""
    _record(library).unlink(missing_ok=True)
    _write(library, built.read_bytes(), mode=0o700)
    _write(_record(library), _digest(library).encode(), mode=0o600)
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
                prepare(folder)
                (folder / place).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                keep(library, folder / place)
                yield folder / place


@contextlib.contextmanager
def locked(path: pathlib.Path, waiting: Callable[[], AbstractContextManager[object]]) -> Iterator[None]:
    """Let one process at a time build something; the kernel ends the lock of a process that dies.

    Args:
        path: What is built; its lock lies beside it.
        waiting: Called if another process builds it; the result is entered until that one has ended.
    """
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


def _is_ours(path: pathlib.Path) -> bool:
    """Return whether only this user can write a folder or file; a link to one must be this user's, too."""
    link, status = path.lstat(), path.stat()
    if path.is_symlink() and not stat.S_ISDIR(status.st_mode):
        return False
    is_private = not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return {link.st_uid, status.st_uid} == {os.getuid()} and is_private


def _record(library: pathlib.Path) -> pathlib.Path:
    return library.with_name(library.name + ".digest")


def _digest(library: pathlib.Path) -> str:
    content = library.read_bytes()
    return f"{len(content)} {hashlib.sha256(content).hexdigest()}\n"


def _write(path: pathlib.Path, content: bytes, mode: int) -> None:
    partial = path.with_name(path.name + ".partial")
    partial.unlink(missing_ok=True)
    with open(partial, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


def _sync(folder: pathlib.Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

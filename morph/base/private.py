"""Folders and files that nobody else can change, though they lie where others may write, as in ``/tmp``.

As ssh does, each folder and link that leads to a file is looked at, from the root down: where each belongs to
root or to this user, and nobody else can write to it, nobody else can exchange what lies below. In a folder
with the sticky bit others make files, but exchange none of ours. What has passed stays so: only root and this
user could change it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import stat
import tempfile
from collections.abc import Iterator

from morph.base import variables
from morph.base.errors import MorphError
from morph.base.importing import own_imports

ROOT = 0


def folders(name: str) -> list[pathlib.Path]:
    """Return the folders to keep something of this user's in, the preferred one first; they may not exist.

    Args:
        name: What is kept there.
    """
    return [_user_folder() / name, _temporary_folder() / f"morph-{name}-{os.getuid()}"]


def prepare(folder: pathlib.Path) -> None:
    """Create a folder, and those above it; nothing is made, or changed, where others could exchange it.

    Raises:
        OSError: If it cannot be created or written, or if somebody else can change it.
    """
    above = [folder.absolute(), *folder.absolute().parents]
    missing = [each for each in above if not os.path.lexists(each)]
    ensure(above[len(missing)], shared=bool(missing))
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
    ensure(folder)
    with tempfile.TemporaryFile(dir=folder):  # os.access says yes to root on a read-only file system
        pass


def ensure(path: pathlib.Path, *, shared: bool = False) -> None:
    """Ensure that only this user and root can change what lies at a path.

    Args:
        path: A folder or a file.
        shared: Whether it may be a folder that others make files in, but exchange none, such as ``/tmp``.

    Raises:
        OSError: If it is not there.
        PermissionError: If others can change it, by a folder or a link above it too.
    """
    os.path.realpath(path, strict=True)  # raises if links lead in a circle
    for each in _led_through(path.absolute()):
        status = each.lstat()
        if not _is_trusted(status.st_uid):
            reason = f"{each} belongs to user {status.st_uid}; set MORPH_CACHE to a folder of your own"
            raise PermissionError(None, reason, str(path))
        is_sticky = stat.S_ISDIR(status.st_mode) and bool(status.st_mode & stat.S_ISVTX)
        if _others_can_write(status) and not (is_sticky and (shared or each != path.absolute())):
            raise PermissionError(None, f"others can write to {each}; chmod go-w it", str(path))


def is_private(path: pathlib.Path) -> bool:
    """Return whether a folder or file is there, and only this user and root can change it."""
    try:
        ensure(path)
    except OSError:
        return False
    return True


def read(path: pathlib.Path) -> bytes:
    """Return the content of a file that only this user and root can have written.

    Raises:
        OSError: If it is not there or no plain file, or if somebody else can change it.
    """
    ensure(path.parent)
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or not _is_trusted(status.st_uid) or _others_can_write(status):
            raise PermissionError(None, "others can change it", str(path))
        return file.read()


def write(path: pathlib.Path, content: bytes, mode: int = 0o600) -> None:
    """Write a file in a prepared folder in one step, so that a crash leaves the old one or the new one.

    Args:
        path: The file.
        content: Its content.
        mode: Its mode.

    Raises:
        OSError: If it cannot be written, or if somebody else can change its folder.
    """
    ensure(path.parent)
    # a new file of a new name, which is no link (O_EXCL, O_NOFOLLOW)
    descriptor, partial = tempfile.mkstemp(".partial", f"{path.name}.", path.parent)
    try:
        with open(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise


def temporary_place() -> pathlib.Path:
    """Return a folder for temporary files of new names, where nobody else can exchange them.

    Raises:
        MorphError: If there is none.
    """
    problems = []
    for found, prepared in ((_temporary_folder, _writable), (lambda: _user_folder() / "scratch", prepare)):
        place = found()
        try:
            prepared(place)
        except OSError as error:
            problems.append(f"{place}: {error.strerror or error}")
        else:
            return place
    raise MorphError(f"no folder for temporary files: {'; '.join(problems)}; set TMPDIR to one of your own")


@contextlib.contextmanager
def scratch(prefix: str) -> Iterator[pathlib.Path]:
    """Make a folder for as long as a ``with`` block lasts, where nobody else can exchange it.

    Args:
        prefix: What its name begins with.

    Raises:
        MorphError: If there is no place for it.
    """
    with tempfile.TemporaryDirectory(prefix=prefix, dir=temporary_place()) as folder:
        yield pathlib.Path(folder)


def _writable(place: pathlib.Path) -> None:
    ensure(place, shared=True)
    with tempfile.TemporaryFile(dir=place):
        pass


def _user_folder() -> pathlib.Path:
    if named := variables.read(variables.CACHE):
        return pathlib.Path(named)
    with own_imports:
        import platformdirs
    return platformdirs.user_cache_path("morph")


def _temporary_folder() -> pathlib.Path:
    try:
        return pathlib.Path(tempfile.gettempdir())
    except FileNotFoundError:  # none can be written; something may have been kept there before
        return pathlib.Path("/tmp")


def _led_through(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yield the folders and links that lead to an absolute path, from the root down, and itself."""
    for each in [*reversed(path.parents), path]:
        yield each
        if each.is_symlink():
            yield from _led_through(each.parent / os.readlink(each))


def _is_trusted(owner: int) -> bool:
    return owner in (ROOT, os.getuid(), _stranger())


def _others_can_write(status: os.stat_result) -> bool:
    if stat.S_ISLNK(status.st_mode) or not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return False
    return bool(status.st_mode & stat.S_IWOTH) or not _is_of_one_user(status.st_gid)


def _is_of_one_user(group: int) -> bool:
    """Return whether a group is this user's own, which some distributions let write by default."""
    import grp
    import pwd

    try:
        name, found = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return group != ROOT and found.gr_name == name and {*found.gr_mem} <= {name}


@functools.cache
def _stranger() -> int | None:
    """Return the owner that a user namespace shows for all that it does not know, such as the host's root.

    Without the host's root, whose folders lead everywhere, a container without rights could keep nothing.
    """
    try:
        known = pathlib.Path("/proc/self/uid_map").read_text().splitlines()
        owner = int(pathlib.Path("/proc/sys/kernel/overflowuid").read_text())
    except OSError:
        return None
    ranges = [(int(first), int(count)) for first, _, count in map(str.split, known)]
    return None if any(first <= owner < first + count for first, count in ranges) else owner

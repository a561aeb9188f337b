"""The changes that enable or disable an environment, planned before the first is made."""

from __future__ import annotations

import contextlib
import os
import pathlib
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

from morph.activation.configuration import files
from morph.activation.configuration.checking import check
from morph.backends.tables import table
from morph.base.errors import MorphError
from morph.running.environment import record, startup_files
from morph.running.environment.place import Place, without
from morph.running.environment.startup_files import content_of

MODE = 0o644  # regardless of the umask: every interpreter of the environment executes them


class EnvironmentChangeError(MorphError):
    """The environment cannot be changed."""


@dataclass(frozen=True, slots=True)
class Change:
    """A file to write or remove.

    Attributes:
        path: Its path.
        content: Its new content; None removes it.
    """

    path: pathlib.Path
    content: str | None

    def __str__(self) -> str:
        verb = "remove" if self.content is None else "change" if self.path.exists() else "write"
        return f"{verb} {self.path}"


def enabling(place: Place, backend: str | None = None, packages: Sequence[str] | None = None) -> list[Change]:
    """Return the changes that make every Python of the environment run under morph.

    Args:
        place: Where morph is installed.
        backend: The backend to record; None keeps the recorded one.
        packages: The only packages that see CUDA; None keeps the recorded ones.

    Raises:
        EnvironmentChangeError: If a file of that name is somebody else's.
        UnknownBackendError: If there is no such backend.
        ConfigurationError: If a given name is not one of a package.
    """
    wanted = dict(startup_files.startup_files(place.root))
    _check_ours(place, wanted)
    settings = _settings(place.folder / startup_files.SETTINGS, backend, packages)
    if settings is not None:
        wanted[startup_files.SETTINGS] = settings
    written = [Change(place.folder / name, content) for name, content in wanted.items()]
    listed = Change(place.record, record.listing(place.record, wanted))
    # listed before the files exist, and settings before the files that use them
    return [change for change in (listed, *reversed(written)) if _is_needed(change)]


def disabling(place: Place) -> list[Change]:
    """Return the changes after which no Python of the environment starts under morph.

    Raises:
        EnvironmentChangeError: If a file of that name is somebody else's.
    """
    removed = [startup_files.PTH, startup_files.START]
    _check_ours(place, removed)
    if _is_as_written(place.folder / startup_files.SETTINGS):
        removed.append(startup_files.SETTINGS)
    listed = Change(place.record, record.listing(place.record, {}))
    changes = [*(Change(place.folder / name, None) for name in removed), listed]
    return [change for change in changes if _is_needed(change)]


def apply(changes: Sequence[Change]) -> None:
    """Make the changes.

    Raises:
        EnvironmentChangeError: If a folder cannot be written (before any change), or a file.
    """
    for folder in {change.path.parent for change in changes}:
        if not os.access(folder, os.W_OK):
            raise _cannot_write(folder, "permission denied")
    for change in changes:
        try:
            _make(change)
        except OSError as error:
            raise _cannot_write(change.path, error.strerror or str(error)) from None


def _settings(path: pathlib.Path, backend: str | None, packages: Sequence[str] | None) -> str | None:
    """Return the new content of the environment's configuration file, if it is one that ``enable`` writes."""
    if backend is None and packages is None:
        return content_of(path) if _is_as_written(path) else None
    if path.exists() and not _is_as_written(path):
        problem = "has been changed by hand; make this change there as well"
        raise EnvironmentChangeError(f"{path} {problem}")
    if backend is not None:
        table.load(backend)
    check({"packages": list(packages or ())}, lambda key: "--package")
    source = files.read(path) or files.Source({})
    return startup_files.settings_file(
        source.backend if backend is None else backend, source.packages if packages is None else packages
    )


def _is_as_written(path: pathlib.Path) -> bool:
    """Return whether the environment's configuration file exists as ``enable`` wrote it."""
    content = content_of(path)
    if content is None or not startup_files.is_ours(content):
        return False
    source = files.read(path) or files.Source({})
    return content == startup_files.settings_file(source.backend, source.packages)


def _check_ours(place: Place, names: Sequence[str] | dict[str, str]) -> None:
    for path in (place.folder / name for name in names):
        content = content_of(path)
        if content is not None and not startup_files.is_ours(content):
            raise EnvironmentChangeError(f"{path} exists and is not morph's; nothing was changed")


def _is_needed(change: Change) -> bool:
    content = content_of(change.path)
    if content is None or content != change.content:
        return content != change.content
    return change.path.name in startup_files.NAMES and startup_files.others_may_write(change.path)


def _make(change: Change) -> None:
    if change.content is None:
        change.path.unlink(missing_ok=True)
        return
    mode = MODE if change.path.name in startup_files.NAMES else stat.S_IMODE(change.path.stat().st_mode)
    # replace the file: an installer may have hard-linked the old one to its cache
    handle, name = tempfile.mkstemp(dir=change.path.parent, prefix=".morph-")
    try:
        with open(handle, "w", encoding="utf-8", newline="") as file:
            file.write(change.content)
        os.chmod(name, mode)
        os.replace(name, change.path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


def _cannot_write(path: pathlib.Path, reason: str) -> EnvironmentChangeError:
    return EnvironmentChangeError(
        f"{path} cannot be written: {reason}; run this as the user who installed morph, or make a virtual "
        f"environment; {without()}"
    )

"""The changes that enable or disable an environment, planned before the first is made."""

from __future__ import annotations

import contextlib
import os
import pathlib
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

from morph.configuration import files
from morph.configuration.checking import check
from morph.environment import record, startup_files
from morph.environment.place import WITHOUT, Place
from morph.environment.startup_files import content_of
from morph.errors import MorphError
from morph.tables import table

MODE = 0o644  # whatever the umask: every interpreter of the environment executes them


class EnvironmentChangeError(MorphError):
    """The environment cannot be changed."""


@dataclass(frozen=True, slots=True)
class Change:
    """A file that is written anew, or removed.

    Attributes:
        path: Where it is.
        content: What it is to hold; None removes it.
    """

    path: pathlib.Path
    content: str | None

    def __str__(self) -> str:
        verb = "remove" if self.content is None else "change" if self.path.exists() else "write"
        return f"{verb} {self.path}"


def enabling(place: Place, backend: str | None = None, packages: Sequence[str] | None = None) -> list[Change]:
    """Return what is to be done so that every Python of the environment runs under morph.

    Args:
        place: Where morph is installed.
        backend: The backend to write down; None leaves what is written down.
        packages: The packages that alone are to see CUDA; None leaves what is written down.

    Raises:
        EnvironmentChangeError: If a file of that name is somebody else's.
        UnknownBackendError: If there is no such backend.
        ConfigurationError: If what is given is no name of a package.
    """
    wanted = dict(startup_files.startup_files(place.root))
    _check_ours(place, wanted)
    settings = _settings(place.folder / startup_files.SETTINGS, backend, packages)
    if settings is not None:
        wanted[startup_files.SETTINGS] = settings
    written = [Change(place.folder / name, content) for name, content in wanted.items()]
    listed = Change(place.record, record.listing(place.record, wanted))
    # listed before they are there, and settled before they count
    return [change for change in (listed, *reversed(written)) if _is_needed(change)]


def disabling(place: Place) -> list[Change]:
    """Return what is to be done so that no Python of the environment runs under morph by itself.

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
        EnvironmentChangeError: If a folder cannot be written, before anything is changed, or a file.
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
    """Return what the environment's configuration file is to hold, if it is one that ``enable`` writes."""
    if backend is None and packages is None:
        return content_of(path) if _is_as_written(path) else None
    if path.exists() and not _is_as_written(path):
        problem = "has been changed by hand; say there what enable was to write down"
        raise EnvironmentChangeError(f"{path} {problem}")
    if backend is not None:
        table.load(backend)
    check({"packages": list(packages or ())}, lambda key: "--package")
    said = files.read(path) or files.Source({})
    return startup_files.settings_file(
        said.backend if backend is None else backend, said.packages if packages is None else packages
    )


def _is_as_written(path: pathlib.Path) -> bool:
    """Tell whether the environment's configuration file is there, and nobody has changed it since."""
    content = content_of(path)
    if content is None or not startup_files.is_ours(content):
        return False
    said = files.read(path) or files.Source({})
    return content == startup_files.settings_file(said.backend, said.packages)


def _check_ours(place: Place, names: Sequence[str] | dict[str, str]) -> None:
    for path in (place.folder / name for name in names):
        content = content_of(path)
        if content is not None and not startup_files.is_ours(content):
            raise EnvironmentChangeError(f"{path} is there, and is not morph's; nothing was changed")


def _is_needed(change: Change) -> bool:
    there = content_of(change.path)
    if there is None or there != change.content:
        return there != change.content
    return change.path.name in startup_files.NAMES and startup_files.others_may_write(change.path)


def _make(change: Change) -> None:
    if change.content is None:
        change.path.unlink(missing_ok=True)
        return
    mode = MODE if change.path.name in startup_files.NAMES else stat.S_IMODE(change.path.stat().st_mode)
    # a new file in the old one's place: an installer may have linked the old one to a cache of its own
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
        f"{path} cannot be written: {reason}; run this as whoever has installed morph, or make a virtual "
        f"environment; {WITHOUT}"
    )

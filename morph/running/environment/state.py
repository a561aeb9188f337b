"""The state of an environment: enabled, not enabled, or enabled by files with problems."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from morph.activation.configuration.files import site_folders
from morph.running.environment import record, startup_files
from morph.running.environment.place import NotInstalledError, Place, find, root_folder
from morph.running.environment.startup_files import PTH, SETTINGS, START, content_of, others_may_write


@dataclass(frozen=True, slots=True)
class State:
    """The state of the environment.

    Attributes:
        prefix: The environment.
        enabled: Whether its Pythons start under morph.
        files: The existing start-up files.
        problems: The problems with them, a line each.
        obstacle: Why it cannot be enabled; None if it can.
    """

    prefix: str
    enabled: bool
    files: tuple[str, ...]
    problems: tuple[str, ...]
    obstacle: str | None


def state() -> State:
    """Return the state of this interpreter's environment."""
    place, obstacle = None, None
    try:
        place = find()
    except NotInstalledError as error:
        obstacle = str(error)
    found = [folder / name for folder in site_folders() for name in (PTH, START, SETTINGS)]
    existing = [path for path in found if path.exists()]
    problems = [problem for path in existing for problem in _problems_of(path, place)]
    starting = [path for path in existing if path.name == _COUNTS]
    if place is not None and starting:
        problems += _missing(place)
    return State(sys.prefix, bool(starting), tuple(map(os.fspath, existing)), tuple(problems), obstacle)


_COUNTS = START if sys.version_info >= (3, 15) else PTH  # the one of the two that the interpreter executes


def _problems_of(path: pathlib.Path, place: Place | None) -> Iterator[str]:
    if others_may_write(path):
        yield f"{path} can be changed by others than its owner; chmod go-w it"
    if path.name == SETTINGS:
        return
    content = content_of(path) or ""
    if not startup_files.is_ours(content):
        yield f"{path} is not morph's"
    elif content != startup_files.startup_files(root_folder())[path.name]:
        yield f"{path} is not what this morph writes: it is damaged, or another's; enable again"
    elif place is not None and path.name not in record.listed(place.record):
        yield f"{path} would be left by an uninstallation; enable again"


def _missing(place: Place) -> Iterator[str]:
    for name in (PTH, START):
        if not (place.folder / name).exists():
            yield f"{place.folder / name} is missing; enable again"

"""The place where morph is installed: the folder for its start-up files, and the RECORD that lists them."""

from __future__ import annotations

import importlib.metadata
import json
import os
import pathlib
import sys
import urllib.parse
import urllib.request
from dataclasses import dataclass

import morph
from morph.activation.configuration.files import site_folders
from morph.base.announcement import launcher
from morph.base.errors import MorphError

DISTRIBUTION = "torch-morph"
UNTIL = "until pip upgrades or removes it"  # pip removes every file listed in the RECORD


class NotInstalledError(MorphError):
    """This installation of morph cannot own start-up files."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place where the running morph is installed.

    Attributes:
        root: The folder that it is imported from.
        folder: The site-packages that it is installed in; for an editable installation not the root.
        record: The list of the files of its distribution, by which pip uninstalls it.
    """

    root: pathlib.Path
    folder: pathlib.Path
    record: pathlib.Path


def find() -> Place:
    """Return the place where the running morph is installed.

    Raises:
        NotInstalledError: If it is a bare checkout, or the interpreter reads no start-up files in its folder.
    """
    root = root_folder()
    for distribution in importlib.metadata.distributions(name=DISTRIBUTION):
        folder = pathlib.Path(str(distribution.locate_file("")))
        listed = [file for file in distribution.files or () if file.name == "RECORD"]
        if listed and _same(root, folder, _editable_root(distribution)):
            record = pathlib.Path(str(listed[0].locate()))
            return _checked(Place(root, folder, record))
    raise NotInstalledError(
        f"the morph in {root} is not installed in {sys.prefix}; install it, for example with "
        f"{sys.executable} -m pip install --editable {root}; {without()}"
    )


def root_folder() -> pathlib.Path:
    """Return the folder that this morph is imported from."""
    return pathlib.Path(os.path.abspath(morph.__file__)).parent.parent


def without() -> str:
    """Return the hint that start-up files can be done without."""
    return f"{launcher()} program.py needs no start-up file"


def _checked(place: Place) -> Place:
    if not any(_same(place.folder, folder) for folder in site_folders()):
        raise NotInstalledError(
            f"{sys.executable} reads no start-up files in {place.folder}; install morph in an environment, "
            f"or in the user's site-packages; {without()}"
        )
    return place


def _editable_root(distribution: importlib.metadata.Distribution) -> pathlib.Path | None:
    """Return the checkout of an editable installation."""
    origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    if not origin.get("dir_info", {}).get("editable"):
        return None
    return pathlib.Path(urllib.request.url2pathname(urllib.parse.urlsplit(origin["url"]).path))


def _same(folder: pathlib.Path, *others: pathlib.Path | None) -> bool:
    return any(other is not None and other.exists() and folder.samefile(other) for other in others)

"""What is in the start-up files of an enabled environment.

Python up to 3.14 executes the ``import`` line of ``morph.pth``. From 3.15 on it calls what ``morph.start``
names, and leaves the line alone since there is a ``.start`` file of the same stem (PEP 829).
"""

from __future__ import annotations

import json
import os
import pathlib
import stat
from collections.abc import Mapping, Sequence

MARK = "# written by `python -m morph enable`; `python -m morph disable` removes it"
PTH = "morph.pth"
START = "morph.start"
SETTINGS = "morph.toml"
NAMES = (PTH, START, SETTINGS)

# the interpreter starts, whatever is wrong; imported from its place, since anything may be on the path
_CODE = "try:\n import morph\n morph.wait_for_torch()\nexcept Exception:\n pass"
_LINE = "import sys; sys.path.insert(0, {root}); exec({code}); del sys.path[0]"


def startup_files(root: pathlib.Path) -> Mapping[str, str]:
    """Return the start-up files by name.

    Args:
        root: The folder that morph is imported from.
    """
    line = _LINE.format(root=ascii(os.fspath(root)), code=ascii(_CODE))
    return {PTH: f"{MARK}\n{line}\n", START: f"{MARK}\nmorph:wait_for_torch\n"}


def settings_file(backend: str | None, packages: Sequence[str] | None) -> str:
    """Return the content of the environment's configuration file."""
    lines = [MARK]
    if backend is not None:
        lines.append(f"backend = {json.dumps(backend)}")
    if packages is not None:
        lines.append(f"packages = {json.dumps(list(packages))}")
    return "\n".join(lines) + "\n"


def is_ours(content: str) -> bool:
    """Tell whether a file has been written by morph, of whatever version."""
    return content.startswith(MARK.partition(";")[0])


def content_of(path: pathlib.Path) -> str | None:
    """Return what is in a file, with the ends of its lines as they are; None if there is no file."""
    try:
        return path.read_bytes().decode(errors="replace")
    except FileNotFoundError:
        return None


def others_may_write(path: pathlib.Path) -> bool:
    """Tell whether the group or everybody may change a file."""
    return bool(path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH))

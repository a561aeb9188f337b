"""The contents of the start-up files of an enabled environment.

Python up to 3.14 executes the ``import`` line of ``morph.pth``. From 3.15 on it calls the function that
``morph.start`` names, and ignores the line because of that ``.start`` file of the same stem (PEP 829).
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

# the interpreter must start despite any error; imported by path, since anything may be on sys.path
_CODE = """\
sys.path.insert(0, {root})
try:
 import morph
 morph.wait_for_torch()
except Exception:
 pass
del sys.path[0]"""
# site reads the file twice in a virtual environment
_LINE = "import sys; getattr(sys.modules.get('morph'), 'was_started', False) or exec({code})"


def startup_files(root: pathlib.Path) -> Mapping[str, str]:
    """Return the start-up files by name.

    Args:
        root: The folder that morph is imported from.
    """
    line = _LINE.format(code=ascii(_CODE.format(root=ascii(os.fspath(root)))))
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
    """Return whether a file was written by morph, in any version."""
    return content.startswith(MARK.partition(";")[0])


def content_of(path: pathlib.Path) -> str | None:
    """Return the content of a file with its line ends unchanged; None if there is no file."""
    try:
        return path.read_bytes().decode(errors="replace")
    except FileNotFoundError:
        return None


def others_may_write(path: pathlib.Path) -> bool:
    """Return whether others than the owner may write to a file."""
    return bool(path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH))

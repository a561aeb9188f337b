"""The exclusion of files from a scan: by the user's patterns, and folders that hold no own source."""

from __future__ import annotations

import fnmatch
import os
import pathlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

BUILT = ("build", "dist", "_build", "buck-out", "env", "venv")
"""Folders that tools fill, by convention; where one of them is a package, it is a program's own source."""
OTHERS = ("__pycache__", "__pypackages__", "node_modules", "site-packages")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A glob pattern of paths to leave out.

    Without a slash it is compared with each part of a path (``tests``, ``*_pb2.py``), with one with the path
    from ``root`` on (``third_party/*/csrc``, ``**/generated``). What is below a match is left out too.

    Attributes:
        text: The pattern.
        root: The absolute path of the folder that it is relative to.
    """

    text: str
    root: str

    def matches(self, path: str) -> bool:
        """Return whether an absolute path, or a folder around it, matches."""
        text = self.text.removesuffix("/")
        root = os.sep if text.startswith(os.sep) else self.root
        if not path.startswith(root.removesuffix(os.sep) + os.sep):
            return False
        parts = os.path.relpath(path, root).split(os.sep)
        if "/" not in text:
            return any(fnmatch.fnmatchcase(part, text) for part in parts)
        return _match(parts, os.path.normpath(text).strip("/").split("/"))


def excluded(path: str | os.PathLike[str], patterns: Iterable[Pattern]) -> bool:
    """Return whether a path matches one of the patterns."""
    whole = os.path.abspath(path)
    return any(pattern.matches(whole) for pattern in patterns)


def is_own_source(folder: pathlib.Path) -> bool:
    """Return whether a folder may hold a program's own source.

    A hidden folder does not, nor a cache, a virtual environment, or what a build or a package manager wrote.
    """
    if folder.name.startswith(".") or folder.name in OTHERS or os.path.exists(folder / "pyvenv.cfg"):
        return False
    return folder.name not in BUILT or os.path.exists(folder / "__init__.py")


def _match(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether a path matches a pattern, or begins with what matches it."""
    if not pattern or not parts:
        return not pattern
    first, *rest = pattern
    if first == "**":
        return any(_match(parts[start:], rest) for start in range(len(parts)))
    return fnmatch.fnmatchcase(parts[0], first) and _match(parts[1:], rest)

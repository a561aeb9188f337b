# don't import any costly modules: a start-up file reaches this one
"""The paths of morph's package trees, found without reading their files."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_FINDERS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGES = os.path.join(os.path.dirname(_FINDERS), "aliases", "packages")
EXTENSIONS = os.path.join(PACKAGES, "extensions")


def has_tree(name: str) -> bool:
    """Return whether ``name`` is a package with its own tree, not a module that belongs to one."""
    return os.path.isfile(os.path.join(PACKAGES, name, "surface.toml"))


def names() -> Iterable[str]:
    """Yield the top-level names of the trees and their modules."""
    yield from filter(has_tree, os.listdir(PACKAGES))
    for entry in os.listdir(EXTENSIONS) if os.path.isdir(EXTENSIONS) else ():
        if not entry.startswith("_"):
            yield entry.removesuffix(".py")


def top_level(name: str) -> str:
    """Return the file of morph's top-level module ``name``."""
    for folder in (os.path.join(PACKAGES, name), os.path.join(EXTENSIONS, name)):
        file = os.path.join(folder, "__init__.py")
        if os.path.isfile(file):
            return file
    return os.path.join(EXTENSIONS, f"{name}.py")


def folders_of(file: str) -> list[str] | None:
    """Return the ``__path__`` of the module in ``file``; None if it has no submodules."""
    return [os.path.dirname(file)] if os.path.basename(file) == "__init__.py" else None

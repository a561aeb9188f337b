# don't import any costly modules: a start-up file reaches this one
"""Where morph's own trees of packages lie, told without reading any of them."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.machinery import ModuleSpec

_FINDERS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGES = os.path.join(os.path.dirname(_FINDERS), "aliases", "packages")
EXTENSIONS = os.path.join(PACKAGES, "extensions")


def has_tree(name: str) -> bool:
    """Tell whether ``name`` is a package with a tree, and not a module that comes with one."""
    return os.path.isfile(os.path.join(PACKAGES, name, "surface.toml"))


def names() -> Iterable[str]:
    """Yield the top-level names that there are trees and modules for."""
    yield from filter(has_tree, os.listdir(PACKAGES))
    for entry in os.listdir(EXTENSIONS) if os.path.isdir(EXTENSIONS) else ():
        if not entry.startswith("_"):
            yield entry.removesuffix(".py")


def top_level(name: str) -> str:
    """Return the file that morph's own top-level module ``name`` is executed from."""
    for folder in (os.path.join(PACKAGES, name), os.path.join(EXTENSIONS, name)):
        file = os.path.join(folder, "__init__.py")
        if os.path.isfile(file):
            return file
    return os.path.join(EXTENSIONS, f"{name}.py")


def folders_of(file: str) -> list[str] | None:
    """Return where the module executed from ``file`` looks for submodules; None if it has none."""
    return [os.path.dirname(file)] if os.path.basename(file) == "__init__.py" else None


def is_installed(spec: ModuleSpec | None) -> bool:
    """Tell whether ``spec`` is of a module with a file, and not of a folder that happens to be called so."""
    return spec is not None and spec.origin is not None

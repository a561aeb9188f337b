# don't import any costly modules: a start-up file reaches this one
"""Separates rewritten bytecode from Python's own, for all of Python's loaders and their subclasses.

Rewritten bytecode is stored next to Python's own under another tag:
``train.cpython-311.opt-morph4npuhccl.pyc``. Whatever invalidates Python's (a time stamp, a hash,
``--check-hash-based-pycs``) invalidates this too, since the import system itself checks it; only the file
name differs. A module that does not mention CUDA is loaded from Python's own bytecode, as without morph.
"""

from __future__ import annotations

import builtins
import contextlib
import os
from importlib.machinery import SourceFileLoader
from zipimport import zipimporter

from morph.finders.rewriting.mentions import mentions_cuda
from morph.finders.rewriting.owners import is_never_rewritten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType
    from typing import Any

    from morph.finders.rewriting.literals import Literals

    LiteralsOf = Callable[[str], Literals | None]

_FileLoader: Any = next(base for base in SourceFileLoader.__mro__ if "get_data" in vars(base))
_own_get_data: Any = _FileLoader.get_data
_own_set_data: Any = SourceFileLoader.set_data
_own_get_code: Any = zipimporter.get_code
_literals_of_file: LiteralsOf | None = None


def tagged(path: str, literals: Literals) -> str:
    """Return the path of the rewritten bytecode of a module whose own bytecode is at ``path``."""
    stem = path.removesuffix(".pyc")
    return f"{stem}{'' if '.opt-' in os.path.basename(stem) else '.opt-'}{literals.tag}.pyc"


def install(literals_of_file: LiteralsOf) -> None:
    """Start separating bytecode.

    Args:
        literals_of_file: Returns the literals that comparisons in the file at a path also accept.
    """
    global _literals_of_file
    _literals_of_file = literals_of_file
    if _FileLoader.get_data is _own_get_data:
        _FileLoader.get_data = _get_data
    if SourceFileLoader.set_data is _own_set_data:
        SourceFileLoader.set_data = _set_data  # type: ignore[method-assign]
    if zipimporter.get_code is _own_get_code:
        zipimporter.get_code = _get_code  # type: ignore[method-assign]


def uninstall() -> None:
    """Restore Python's loaders."""
    global _literals_of_file
    _literals_of_file = None
    if _FileLoader.get_data is _get_data:
        _FileLoader.get_data = _own_get_data
    if SourceFileLoader.set_data is _set_data:
        SourceFileLoader.set_data = _own_set_data  # type: ignore[method-assign]
    if zipimporter.get_code is _get_code:
        zipimporter.get_code = _own_get_code  # type: ignore[method-assign]


def _get_data(self: Any, path: Any) -> bytes:
    """Read a file; the bytecode of a rewritten module from its own path."""
    if not _is_bytecode(self, path):
        return bytes(_own_get_data(self, path))
    if os.path.exists(path):
        data: bytes = _own_get_data(self, path)
        return bytes(_own_get_data(self, _elsewhere(self, path))) if mentions_cuda(data) else data
    mentions = mentions_cuda(_own_get_data(self, self.path))
    return bytes(_own_get_data(self, _elsewhere(self, path) if mentions else path))


def _set_data(self: Any, path: Any, data: Any, *, _mode: int = 0o666) -> None:
    """Write a file; the bytecode of a rewritten module to its own path."""
    if not _is_bytecode(self, path) or not mentions_cuda(data):
        _own_set_data(self, path, data, _mode=_mode)
        return
    elsewhere = _elsewhere(self, path)
    _own_set_data(self, elsewhere, data, _mode=_mode)
    if elsewhere != path:
        with contextlib.suppress(
            OSError
        ):  # left from a source that did not mention CUDA yet: it would be read first
            if not mentions_cuda(_own_get_data(self, path)):
                os.unlink(path)


def _is_bytecode(loader: Any, path: Any) -> bool:
    """Return whether ``path`` is bytecode, possibly of a rewritten module."""
    if type(path) is not str or not path.endswith(".pyc") or not isinstance(loader, SourceFileLoader):
        return False
    return path != loader.path and not is_never_rewritten(loader.path, loader.name.partition(".")[0])


def _elsewhere(loader: SourceFileLoader, path: str) -> str:
    """Return the bytecode file of a module that mentions CUDA; this imports, so it is called for no other."""
    literals = _literals_of_file(loader.path) if _literals_of_file else None
    return tagged(path, literals) if literals else path


def _get_code(self: Any, fullname: str) -> CodeType:
    """Compile a module to be rewritten from its source in the zip file, even if that contains bytecode."""
    source = self.get_source(fullname)
    path = self.get_filename(fullname)
    if source is None or not mentions_cuda(source) or not _literals_of_file or not _literals_of_file(path):
        code: CodeType = _own_get_code(self, fullname)
        return code
    return builtins.compile(source, path, "exec", dont_inherit=True)

"""Loads modules with their comparisons against CUDA literals rewritten (PEP 302, PEP 451)."""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import cache_from_source
from types import CodeType
from typing import Any
from zipimport import zipimporter

from morph.finders.literals import Literals, compile_source


class RewritingLoader(SourceFileLoader):
    """Loads a module from a source file, rewritten; its bytecode lies beside Python's own under another tag.

    What invalidates Python's bytecode (a time stamp, a hash, ``--check-hash-based-pycs``) invalidates this
    too, since the import system itself does the checking; only the file's name differs.
    """

    def __init__(self, fullname: str, path: str, literals: Literals) -> None:
        super().__init__(fullname, path)
        self._literals = literals

    @property
    def bytecode_path(self) -> str:
        """Where rewritten bytecode is kept: ``__pycache__/train.cpython-311.opt-morph1npuhccl.pyc``."""
        level = sys.flags.optimize or ""
        return cache_from_source(self.path, optimization=f"{level}{self._literals.tag}")

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]
        """Compile the source, rewritten."""
        return compile_source(data, os.fsdecode(path), self._literals, optimize=_optimize)

    def get_data(self, path: str) -> bytes:
        """Read a file; the module's bytecode from where its rewritten bytecode is."""
        return super().get_data(self._own_place(path))

    def set_data(self, path: str, data: bytes, *, _mode: int = 0o666) -> None:  # type: ignore[override]
        """Write a file; the module's bytecode to where its rewritten bytecode belongs."""
        super().set_data(self._own_place(path), data, _mode=_mode)

    def _own_place(self, path: str) -> str:
        return self.bytecode_path if path != self.path and path == cache_from_source(self.path) else path


class RewritingZipLoader(zipimporter):
    """Loads a module from the source in a zip file, rewritten; nothing is cached, as for any zip file."""

    def __init__(self, path: str, literals: Literals) -> None:
        super().__init__(path)
        self._literals = literals

    def get_code(self, fullname: str) -> CodeType:
        """Compile the module's source, rewritten; where there is only bytecode, return that."""
        source = self.get_source(fullname)
        if source is None:
            return super().get_code(fullname)
        return compile_source(source, self.get_filename(fullname), self._literals)


def rewriting(spec: ModuleSpec, literals: Literals) -> ModuleSpec:
    """Have the module of ``spec`` loaded rewritten, if its loader is one of Python's own that read source.

    Returns:
        The same ``spec``.
    """
    loader: Any = spec.loader
    if type(loader) is SourceFileLoader:
        spec.loader = own = RewritingLoader(loader.name, loader.path, literals)
        spec.cached = own.bytecode_path
    elif type(loader) is zipimporter:
        spec.loader = RewritingZipLoader(os.path.join(loader.archive, loader.prefix), literals)  # type: ignore[assignment]
    return spec

# don't import any costly modules: every module of a program is loaded by this one
"""Loads modules with their comparisons against CUDA literals rewritten (PEP 302, PEP 451)."""

from __future__ import annotations

import contextlib
import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import cache_from_source
from types import CodeType
from zipimport import zipimporter

from morph import WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from morph.finders.rewriting.literals import Literals

    LiteralsOf = Callable[[str], Literals | None]


def mentions_cuda(content: str | bytes | bytearray) -> bool:
    """Tell whether a source or bytecode file can hold a CUDA literal at all; most cannot."""
    data = content.encode(errors="surrogatepass") if isinstance(content, str) else content
    return any(word in data for word in WORDS)


class RewritingLoader(SourceFileLoader):
    """Loads a module from a source file, rewritten; its bytecode lies beside Python's own under another tag.

    What invalidates Python's bytecode (a time stamp, a hash, ``--check-hash-based-pycs``) invalidates this
    too, since the import system itself does the checking; only the file's name differs. A module that does
    not mention CUDA is loaded as if morph were not there, from Python's own bytecode.

    Args:
        fullname: The module's name.
        path: Its source file.
        literals_of: Returns what the comparisons of the module of a name are to accept as well, or None for
            nothing; called for a module that mentions CUDA only.
    """

    def __init__(self, fullname: str, path: str, literals_of: LiteralsOf) -> None:
        super().__init__(fullname, path)
        self._literals_of = literals_of

    @property
    def bytecode_path(self) -> str:
        """Where rewritten bytecode is kept: ``__pycache__/train.cpython-311.opt-morph3npuhccl.pyc``."""
        literals = self._literals_of(self.name)
        if literals is None:
            return cache_from_source(self.path)
        return cache_from_source(self.path, optimization=f"{sys.flags.optimize or ''}{literals.tag}")

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]
        """Compile the source, rewritten."""
        content = self._rewritten(data, os.fsdecode(path))
        try:
            return super().source_to_code(content, path, _optimize=_optimize)
        except RecursionError:
            if content is data:
                raise
            from morph.finders.rewriting.compilation import warn_of_depth

            warn_of_depth(os.fsdecode(path))
            return super().source_to_code(data, path, _optimize=_optimize)

    def get_data(self, path: str) -> bytes:
        """Read a file; the bytecode of a module that mentions CUDA from where its rewritten bytecode is."""
        if not self._is_bytecode(path):
            return super().get_data(path)
        if os.path.exists(path):
            data = super().get_data(path)
            return super().get_data(self.bytecode_path) if mentions_cuda(data) else data
        return super().get_data(self.bytecode_path if mentions_cuda(super().get_data(self.path)) else path)

    def set_data(self, path: str, data: bytes, *, _mode: int = 0o666) -> None:  # type: ignore[override]
        """Write a file; the bytecode of a module that mentions CUDA to the place of rewritten bytecode."""
        if not self._is_bytecode(path) or not mentions_cuda(data):
            super().set_data(path, data, _mode=_mode)
            return
        super().set_data(self.bytecode_path, data, _mode=_mode)
        if self.bytecode_path != path and os.path.exists(path):
            self._remove_stale(path)

    def _rewritten(self, source: bytes, path: str) -> Any:
        """Return the syntax tree of ``source``, rewritten, or ``source`` itself if nothing is to be."""
        literals = self._literals_of(self.name) if mentions_cuda(source) else None
        if literals is None:
            return source
        from morph.finders.rewriting.comparisons import rewritten

        try:
            return rewritten(source, path, literals) or source
        except (SyntaxError, RecursionError):
            return source  # whose compilation raises it as Python's own loader does

    def _is_bytecode(self, path: str) -> bool:
        return path != self.path and path == cache_from_source(self.path)

    def _remove_stale(self, path: str) -> None:
        """Remove Python's bytecode of a source that did not mention CUDA yet: it would be read each time."""
        with contextlib.suppress(OSError):
            if not mentions_cuda(super().get_data(path)):
                os.unlink(path)


# Python cuts frames of its own import system out of what a module raises; this one stands among them
_code = RewritingLoader.source_to_code.__code__
RewritingLoader.source_to_code.__code__ = _code.replace(co_filename="<frozen importlib._bootstrap_external>")


class RewritingZipLoader(zipimporter):
    """Loads a module from the source in a zip file, rewritten; nothing is cached, as for any zip file."""

    def __init__(self, path: str, literals_of: LiteralsOf) -> None:
        super().__init__(path)
        self._literals_of = literals_of

    def get_code(self, fullname: str) -> CodeType:
        """Compile the module's source, rewritten; where there is only bytecode, return that."""
        source = self.get_source(fullname)
        if source is None or not mentions_cuda(source):
            return super().get_code(fullname)
        from morph.finders.rewriting.compilation import compile_source

        return compile_source(source, self.get_filename(fullname), self._literals_of(fullname))


def rewriting(spec: ModuleSpec, literals_of: LiteralsOf) -> ModuleSpec:
    """Have the module of ``spec`` loaded rewritten, if its loader is one of Python's own that read source.

    Returns:
        The same ``spec``.
    """
    loader: Any = spec.loader
    if type(loader) is SourceFileLoader:
        spec.loader = RewritingLoader(loader.name, loader.path, literals_of)
    elif type(loader) is zipimporter:
        spec.loader = RewritingZipLoader(os.path.join(loader.archive, loader.prefix), literals_of)  # type: ignore[assignment]
    return spec

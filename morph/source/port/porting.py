"""Ports one module."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass

from morph.source.port.imports import cleaned
from morph.source.port.leftovers import Left, leftovers
from morph.source.port.prelude import with_prelude
from morph.source.port.rewriting import Rewriter
from morph.source.port.source import Source
from morph.source.port.vocabulary import Vocabulary
from morph.source.scan.files import read
from morph.source.scan.scanning import parsed
from morph.source.scan.scopes import Imported


@dataclass(frozen=True, slots=True)
class Ported:
    """A module that has been ported.

    Attributes:
        before: The original bytes.
        after: The ported bytes; the same if there was nothing to do.
        left: The uses that are left to a person.
    """

    before: bytes
    after: bytes
    left: tuple[Left, ...]


def port(file: pathlib.Path) -> Ported:
    """Port the module in a file, without writing it.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: If it is not Python, or nests too deeply.
        OSError: If it cannot be read.
    """
    return port_source(read(file), str(file))


def port_source(data: bytes, path: str) -> Ported:
    """Port a module.

    Args:
        data: Its bytes, in the encoding that they declare.
        path: Its file.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: If it is not Python, or nests too deeply.
    """
    source = Source(data, path)
    vocabulary = Vocabulary(source.identifiers, _modules(source))
    rewriter = Rewriter(source, vocabulary)
    module = source.module.visit(rewriter) if source.uses else source.module
    if rewriter.done or vocabulary.used:
        module = with_prelude(module, vocabulary, source.identifiers)
    module = cleaned(module, source, exports=pathlib.Path(path).name == "__init__.py")
    after = module.bytes
    parsed(after, path)
    return Ported(data, after, leftovers(source, module, rewriter.done, vocabulary.used))


def _modules(source: Source) -> dict[str, str]:
    """Return the module's global names of torch and of torch's modules, by their own names."""
    scope = source.resolution.scopes.of[source.resolution.tree]
    found: dict[str, str] = {}
    for name, bindings in scope.bindings.items():
        match [*{*bindings}]:
            case [Imported(module)] if module in ("torch", "torch.distributed"):
                found.setdefault(module, name)
    return found

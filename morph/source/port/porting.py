"""Ports one module."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass

from morph.source.module import parsed
from morph.source.port.imports import cleaned
from morph.source.port.leftovers import Left, leftovers
from morph.source.port.prelude import with_prelude
from morph.source.port.rewriting import Rewriter
from morph.source.port.source import Source, identifiers
from morph.source.port.vocabulary import Vocabulary
from morph.source.scan.files import read
from morph.source.scopes import Imported


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
    taken = identifiers(source.tree)
    vocabulary = Vocabulary(taken, _modules(source))
    rewriter = Rewriter(source, vocabulary)
    if source.uses:
        rewriter.rewrite()
    text = str(source.draft)
    if rewriter.done or vocabulary.used:
        text = with_prelude(text, vocabulary, taken)
    if pathlib.Path(path).name != "__init__.py":  # other modules may import what it imports
        text = cleaned(text, source)
    after = source.encoded(text)
    return Ported(data, after, leftovers(source, parsed(after, path), rewriter.done, vocabulary.used))


def _modules(source: Source) -> dict[str, str]:
    """Return the module's global names of torch and of torch's modules, by their own names."""
    scope = source.resolution.scopes.of[source.resolution.tree]
    found: dict[str, str] = {}
    for name, bindings in scope.bindings.items():
        match [*{*bindings}]:
            case [Imported(module)] if module in ("torch", "torch.distributed"):
                found.setdefault(module, name)
    return found

"""Ports one module."""

from __future__ import annotations

import ast
import pathlib
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from morph.port.imports import cleaned, is_cuda
from morph.port.prelude import with_prelude
from morph.port.replacements import facts
from morph.port.rewriting import Rewriter
from morph.port.source import Source
from morph.port.vocabulary import Vocabulary
from morph.scan.names import imported_names
from morph.scan.rules import rules
from morph.scan.scanning import parsed
from morph.scan.scopes import Imported
from morph.scan.uses import Kind, Use

NO_REPLACEMENT = "has no counterpart that is neutral of the device"
SCRIPT = "torch.jit.script"
AMBIGUOUS = "may be several things"
_REASONS = {
    Kind.NAME: NO_REPLACEMENT,
    Kind.PROBE: NO_REPLACEMENT,
    Kind.PACKAGE: "is of a package for NVIDIA's GPUs",
    Kind.DEVICE: "is a device as text in a place that cannot be rewritten",
    Kind.COLLECTIVE: "is a backend as text in a place that cannot be rewritten",
    Kind.METHOD: "is called in a way that .to() cannot be",
    Kind.COMPARISON: "is compared in a way that cannot be rewritten",
    Kind.VARIABLE: "is a variable that other devices do not read",
}


@dataclass(frozen=True, slots=True)
class Left:
    """A use of CUDA for a person to look at.

    Attributes:
        line: Where it is in the module as it was.
        name: What a reader calls it.
        reason: Why it could not be ported, or what to see to.
    """

    line: int
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Ported:
    """A module that has been ported.

    Attributes:
        before: The module's bytes as they were.
        after: Its bytes now; the same if there was nothing to do.
        left: What a person has to look at.
    """

    before: bytes
    after: bytes
    left: tuple[Left, ...]


def port(file: pathlib.Path) -> Ported:
    """Port the module in a file, which is not written.

    Raises:
        SyntaxError, ValueError, RecursionError: If it is not Python, or nests too deeply.
        OSError: If it cannot be read.
    """
    return port_source(file.read_bytes(), str(file))


def port_source(data: bytes, path: str) -> Ported:
    """Port a module.

    Args:
        data: Its bytes, with whatever encoding they declare.
        path: Its file.

    Raises:
        SyntaxError, ValueError, RecursionError: If it is not Python, or nests too deeply.
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
    left = [*_left(source, rewriter, module), *(_scripted(source) if vocabulary.used else ())]
    return Ported(data, after, _once_each(left))


def _once_each(left: list[Left]) -> tuple[Left, ...]:
    """Return what is left in the order of lines; of what is told of one name in a line, the first."""
    first: dict[tuple[int, str], Left] = {}
    for each in left:
        first.setdefault((each.line, each.name), each)
    return tuple(first[key] for key in sorted(first))


def _modules(source: Source) -> dict[str, str]:
    """Return what the module as a whole calls torch and modules of torch's, by their own names."""
    scope = source.resolution.scopes.of[source.resolution.tree]
    found: dict[str, str] = {}
    for name, bindings in scope.bindings.items():
        match [*{*bindings}]:
            case [Imported(module)] if module in ("torch", "torch.distributed"):
                found.setdefault(module, name)
    return found


def _scripted(source: Source) -> Iterator[Left]:
    """Yield the uses of TorchScript in a module that has a device now, which it cannot compile."""
    for chain in source.resolution.chains:
        if SCRIPT in source.resolution.spelled(chain):
            yield Left(chain.lineno, SCRIPT, "what it compiles cannot read the module's device: pass it on")


def _left(source: Source, rewriter: Rewriter, module: cst.Module) -> Iterator[Left]:
    imported = _still_imported(module)
    for use in source.uses:
        if use in rewriter.done or facts().keeps(use.name):
            continue
        if not use.is_import or use.name in imported or not is_cuda(use.name):
            yield Left(use.place.line, use.name, _reason(use))


def _still_imported(module: cst.Module) -> set[str]:
    """Return the names that the ported module imports for others: itself it does not use them."""
    tree = ast.parse(module.bytes)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias, name in imported_names(node):
                bound = alias.asname or alias.name.partition(".")[0]
                found.update({name} if bound not in used else ())
    return found


def _reason(use: Use) -> str:
    if use.rule:
        return rules()[use.rule].remedy
    if use.name in facts().tells:
        return facts().tells[use.name]
    replacement = facts().replacement(use.name) if use.kind is Kind.NAME else None
    if replacement is not None:
        return replacement.look or AMBIGUOUS
    return _REASONS[use.kind]

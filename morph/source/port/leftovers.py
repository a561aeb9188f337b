"""The uses in a ported module that are left to a person."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Container, Iterator
from dataclasses import dataclass

from morph.source.port.imports import is_cuda
from morph.source.port.replacements import facts
from morph.source.port.source import Source
from morph.source.resolution import text_of
from morph.source.scan.names import imported_names
from morph.source.scan.rules import rules
from morph.source.scan.uses import Kind, Use

NO_REPLACEMENT = "it has no device-independent equivalent"
AMBIGUOUS = "it may stand for several things, or its arguments do not fit its replacement"
IN_TEXT = "it is inside a text: port that, if it is code or names a device"
DISPATCH_KEY = "it is a dispatch key: register the kernel for the other devices' keys, too"
_KEYS = ("CUDA", "AutogradCUDA", "AutocastCUDA")
_CODE = re.compile(r"torch\.cuda\b|\.cuda\(|cuda:\d|['\"]cuda['\"]|\bimport cupy\b")
_REASONS = {
    Kind.NAME: NO_REPLACEMENT,
    Kind.PROBE: NO_REPLACEMENT,
    Kind.PACKAGE: "it is of a package for NVIDIA's GPUs",
    Kind.DEVICE: "it is a device as text in a place that cannot be rewritten",
    Kind.COLLECTIVE: "it is a backend as text in a place that cannot be rewritten",
    Kind.METHOD: "it is called in a way that .to() does not support",
    Kind.COMPARISON: "it is compared in a way that cannot be rewritten",
    Kind.VARIABLE: "other devices do not read this variable",
}


@dataclass(frozen=True, slots=True)
class Left:
    """A use of CUDA that is left to a person.

    Attributes:
        line: The line in the original module.
        name: The name for a reader.
        reason: Why it could not be ported, or what to check.
        is_ported: Whether it was ported nevertheless.
    """

    line: int
    name: str
    reason: str
    is_ported: bool = False

    def __str__(self) -> str:
        return f"{'look at' if self.is_ported else 'cannot port'} {self.name}: {self.reason}"


def leftovers(
    source: Source, tree: ast.Module, done: Container[Use], stand_ins: Collection[str]
) -> tuple[Left, ...]:
    """Return the uses that are left, in the order of lines, only the first for one name in a line.

    Args:
        source: The original module.
        tree: The ported module.
        done: The rewritten uses.
        stand_ins: The stand-ins in the ported module.
    """
    noted = _noted(source, stand_ins) if stand_ins else ()
    first: dict[tuple[int, str], Left] = {}
    for each in (*_uses(source, tree, done), *noted, *_in_texts(source), *_dispatch_keys(source)):
        first.setdefault((each.line, each.name), each)
    return tuple(first[key] for key in sorted(first))


def _uses(source: Source, tree: ast.Module, done: Container[Use]) -> Iterator[Left]:
    imported = _still_imported(tree)
    for use in source.uses:
        if use in done or facts().keeps(use.name):
            continue
        if not use.is_import or use.name in imported or not is_cuda(use.name):
            yield _left(use)


def _left(use: Use) -> Left:
    replacement = facts().replacement(use.name) if use.kind is Kind.NAME and not use.rule else None
    reason = rules()[use.rule].remedy if use.rule else facts().tells.get(use.name, _REASONS.get(use.kind, ""))
    if replacement is None:
        return Left(use.place.line, use.name, reason)
    return Left(use.place.line, use.name, replacement.look or AMBIGUOUS, is_ported=bool(replacement.look))


def _still_imported(tree: ast.Module) -> set[str]:
    """Return the names that the ported module imports only for others."""
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias, name in imported_names(node):
                bound = alias.asname or alias.name.partition(".")[0]
                found.update({name} if bound not in used else ())
    return found


def _noted(source: Source, stand_ins: Collection[str]) -> Iterator[Left]:
    """Yield the uses of functions that conflict with the ported module's stand-ins."""
    for chain in source.resolution.chains:
        for name in source.resolution.spelled(chain):
            note = facts().noted.get(name)
            if note and (not note["stand_in"] or note["stand_in"] in stand_ins):
                yield Left(chain.lineno, name, note["reason"])


def _in_texts(source: Source) -> Iterator[Left]:
    """Yield texts that seem to contain code or a device."""
    whole = {use.place for use in source.uses}
    for node in source.resolution.nodes(ast.Constant):
        text = node.value.decode(errors="replace") if isinstance(node.value, bytes) else text_of(node)
        found = _CODE.search(text) if text else None
        is_docstring = isinstance(source.resolution.scopes.parents.get(node), ast.Expr)
        if found and not is_docstring and source.draft.places.of(node) not in whole:
            yield Left(node.lineno, f'"{found[0]}"', IN_TEXT)


def _dispatch_keys(source: Source) -> Iterator[Left]:
    for call in source.resolution.nodes(ast.Call):
        for each in (*call.args, *(keyword.value for keyword in call.keywords)):
            if text_of(each) in _KEYS:
                yield Left(each.lineno, f'"{text_of(each)}"', DISPATCH_KEY)
    for node in source.resolution.nodes(ast.Attribute):
        if node.attr in _KEYS and "torch._C.DispatchKey" in source.resolution.names(node.value):
            yield Left(node.lineno, f"torch._C.DispatchKey.{node.attr}", DISPATCH_KEY)

"""A module to port: its text as a tree that keeps all whitespace, and the uses that a scan finds in it."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, ParentNodeProvider, PositionProvider

from morph.source.scan.resolution import Resolution
from morph.source.scan.scanning import decoded, parsed, uses_of
from morph.source.scan.uses import Kind, Place, Places, Use

PACKERS = ("torch.nn.utils.rnn.pack_padded_sequence", "torch.nn.utils.rnn.pack_sequence")
AVAILABLE = ("torch.cuda.is_available", "torch.accelerator.is_available")


class Source:
    """A module's source.

    Args:
        data: The file's bytes.
        path: The path for error messages.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: If it is not Python, or nests too deeply.
    """

    def __init__(self, data: bytes, path: str) -> None:
        self.resolution = Resolution(parsed(data, path))
        text = decoded(data)
        self.uses = uses_of(self.resolution, text)
        wrapper = MetadataWrapper(_parsed(data, path), unsafe_skip_copy=True)
        self.module = wrapper.module
        self._ranges: Mapping[cst.CSTNode, CodeRange] = wrapper.resolve(PositionProvider)
        self._parents: Mapping[cst.CSTNode, cst.CSTNode] = wrapper.resolve(ParentNodeProvider)
        self._by_place = self._uses_by_place()
        self._places = Places(text.splitlines(keepends=True))
        self._expressions = self._expressions_by_place()

    def _uses_by_place(self) -> dict[Place, list[Use]]:
        found: dict[Place, list[Use]] = {}
        for use in self.uses:
            found.setdefault(use.place, []).append(use)
        return found

    def _expressions_by_place(self) -> dict[Place, ast.expr]:
        found: dict[Place, ast.expr] = {}
        for node in ast.walk(self.resolution.tree):
            if isinstance(node, ast.expr):
                found.setdefault(self._places.of(node), node)
        return found

    def place(self, node: cst.CSTNode) -> Place:
        """Return the place of ``node``."""
        span = self._ranges[node]
        return Place(span.start.line, span.start.column + 1, span.end.line, span.end.column + 1)

    def place_of(self, expression: ast.expr) -> Place:
        """Return the place of an expression of the syntax tree."""
        return self._places.of(expression)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the node around ``node``; None for the module."""
        return self._parents.get(node)

    def uses_at(self, node: cst.CSTNode, *kinds: Kind) -> list[Use]:
        """Return the uses of these kinds at ``node`` itself."""
        return [use for use in self._by_place.get(self.place(node), ()) if use.kind in kinds]

    def names(self, node: cst.CSTNode) -> list[str]:
        """Return the dotted names that an expression may stand for."""
        expression = self._expressions.get(self.place(node))
        return self.resolution.names(expression) if expression else []

    def says_available(self, node: cst.CSTNode) -> bool:
        """Return whether an expression is a result of ``torch.cuda.is_available()`` or the accelerator's."""
        expression = self._expressions.get(self.place(node))
        origins = self.resolution.origins(expression) if expression else ()
        is_simple = isinstance(node, cst.Call | cst.Name)
        return (
            is_simple and bool(origins) and all(each.name in AVAILABLE and each.is_result for each in origins)
        )

    def is_accelerator(self, node: cst.CSTNode) -> bool:
        """Return whether an expression is the accelerator's type, in a module that was ported before."""
        for statement in self.resolution.tree.body:
            match statement:
                case ast.Assign(
                    targets=[ast.Name(name)], value=ast.IfExp(orelse=ast.Constant("no accelerator"))
                ):
                    return isinstance(node, cst.Name) and node.value == name
        return False

    def makes_device(self, node: cst.CSTNode) -> bool:
        """Return whether an expression is the result of ``torch.device()``."""
        return self.made_by(node) == {"torch.device"}

    def makes_packed(self, node: cst.CSTNode) -> bool:
        """Return whether an expression is a packed sequence, which has no ``device`` except in its data."""
        made_by = self.made_by(node)
        return bool(made_by) and all(name.startswith(PACKERS) and ".data" not in name for name in made_by)

    def made_by(self, node: cst.CSTNode) -> set[str]:
        """Return the functions whose result an expression may be; none if it may be anything else."""
        expression = self._expressions.get(self.place(node))
        origins = self.resolution.origins(expression) if expression else ()
        return {each.name for each in origins} if all(each.is_result for each in origins) else set()

    @property
    def identifiers(self) -> frozenset[str]:
        """Every name that the module uses or binds, in any scope."""
        found: set[str] = set()
        for node in ast.walk(self.resolution.tree):
            match node:
                case ast.Name(id=name) | ast.arg(arg=name):
                    found.add(name)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    found.add(name)
                case ast.alias(name=name, asname=alias):
                    found.add(alias or name.partition(".")[0])
        return frozenset(found)


def _parsed(data: bytes, path: str) -> cst.Module:
    try:
        return cst.parse_module(data)
    except cst.ParserSyntaxError as error:  # of files that Python itself accepts
        where = (path, error.raw_line, error.raw_column, None)
        raise SyntaxError(f"libcst cannot parse this: {error.message}", where) from None

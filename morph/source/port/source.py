"""A module to port: its tree and draft, and the uses that a scan finds in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from morph.source.draft import Draft
from morph.source.module import Place, decoded, encoding, parsed
from morph.source.resolution import Resolution
from morph.source.scan.scanning import uses_of
from morph.source.scan.uses import Kind, Use

PACKERS = ("torch.nn.utils.rnn.pack_padded_sequence", "torch.nn.utils.rnn.pack_sequence")
AVAILABLE = ("torch.cuda.is_available", "torch.accelerator.is_available")


class Source:
    """A module's source.

    Args:
        data: The file's bytes.
        path: The path for error messages.

    Attributes:
        draft: The text, with what has been rewritten.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: If it is not Python, or nests too deeply.
    """

    def __init__(self, data: bytes, path: str) -> None:
        self.tree = parsed(data, path)
        self.resolution = Resolution(self.tree)
        self._encoding, text = encoding(data), decoded(data)
        ends = {*re.findall(r"\r\n|\r|\n", text)}
        self._line_end = ends.pop() if len(ends) == 1 else "\n"
        text = text.replace(self._line_end, "\n")
        self.draft = Draft(text)
        self.uses = uses_of(self.resolution, text)
        self._by_place: dict[Place, list[Use]] = {}
        for use in self.uses:
            self._by_place.setdefault(use.place, []).append(use)

    def encoded(self, text: str) -> bytes:
        """Return a text as this module's file has it."""
        return text.replace("\n", self._line_end).encode(self._encoding)

    @property
    def nodes(self) -> Iterator[ast.AST]:
        """The nodes that can be rewritten, each after those below it."""
        misplaced = {id(below) for each in self._misplaced() for below in ast.walk(each)}
        return (node for node in reversed([*self.resolution.scopes.of]) if id(node) not in misplaced)

    def _misplaced(self) -> Iterator[ast.AST]:
        """Yield the expressions in f-strings whose place Python before 3.12 gets wrong."""
        for each in self.resolution.nodes(ast.FormattedValue):
            try:
                there = ast.parse(
                    f"({self.draft.text[slice(*self.draft.places.span(each.value))]})", mode="eval"
                )
            except (SyntaxError, ValueError):
                yield each
            else:
                if ast.dump(there.body) != ast.dump(each.value):
                    yield each

    def parent(self, node: ast.AST) -> ast.AST | None:
        """Return the node around ``node``; None for the module."""
        return self.resolution.scopes.parents.get(node)

    def uses_at(self, node: ast.AST, *kinds: Kind) -> list[Use]:
        """Return the uses of these kinds at ``node`` itself."""
        return [use for use in self._by_place.get(self.draft.places.of(node), ()) if use.kind in kinds]

    def names(self, node: ast.expr) -> list[str]:
        """Return the dotted names that an expression may stand for."""
        return self.resolution.names(node)

    def says_available(self, node: ast.expr) -> bool:
        """Return whether an expression is a result of ``torch.cuda.is_available()`` or the accelerator's."""
        made_by = self.made_by(node) if isinstance(node, ast.Call | ast.Name) else set()
        return bool(made_by) and made_by <= {*AVAILABLE}

    def is_accelerator(self, node: ast.expr) -> bool:
        """Return whether an expression is the accelerator's type, in a module that was ported before."""
        for statement in self.tree.body:
            match statement:
                case ast.Assign(
                    targets=[ast.Name(name)], value=ast.IfExp(orelse=ast.Constant("no accelerator"))
                ):
                    return isinstance(node, ast.Name) and node.id == name
        return False

    def makes_packed(self, node: ast.expr) -> bool:
        """Return whether an expression is a packed sequence, which has no ``device`` except in its data."""
        made_by = self.made_by(node)
        return bool(made_by) and all(name.startswith(PACKERS) and ".data" not in name for name in made_by)

    def made_by(self, node: ast.expr) -> set[str]:
        """Return the functions whose result an expression may be; none if it may be anything else."""
        origins = self.resolution.origins(node)
        return {each.name for each in origins} if all(each.is_result for each in origins) else set()

    def line(self, node: ast.AST) -> ast.Expr | None:
        """Return the statement that consists of a call only, and stands in lines of its own; else None."""
        statement = self.parent(node)
        if not isinstance(statement, ast.Expr) or not is_alone(self.draft, statement):
            return None
        return statement


def is_alone(draft: Draft, statement: ast.stmt) -> bool:
    """Return whether a statement stands in lines of its own."""
    start, end = draft.places.span(statement)
    rest = draft.text[end : draft.places.index((statement.end_lineno or 0) + 1)].strip()
    return not draft.line_of(start).strip() and (not rest or rest.startswith("#"))


def identifiers(tree: ast.AST) -> set[str]:
    """Return every name that a tree uses or binds, in any scope, but for its attributes."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.alias(name=name, asname=alias):
                found.add(alias or name.partition(".")[0])
    return found

"""Rewrites comparisons against CUDA literals so that they accept a vendor's spelling too.

``x.device.type == "cuda"`` is False on an NPU, where the type is ``"npu"``. In code that has opted in, such
a comparison becomes ``cuda_spelling(x.device.type, "npu", "cuda") == "cuda"``: ``==`` itself stays where it
was, so that overloaded comparisons, tracebacks and short-circuits are as before, and each operand is
evaluated once.

Rewritten: ``==``, ``!=`` and chains of them; ``in`` and ``not in``, with the literal on either side;
``startswith``; value patterns of ``match``. Left as they are: ``is``, dictionary look-ups and displays,
comparisons of whole tuples, every other string, and every decision that names the vendor's own spelling.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from morph.backends import Backend

FORMAT = 3
"""To be raised whenever the same source is rewritten differently: it is part of the bytecode's cache tag."""

HELPER = "__morph_spelling__"


@dataclass(frozen=True, slots=True)
class Word:
    """A word of CUDA's and a vendor's word for it.

    Attributes:
        cuda: ``"cuda"`` or ``"nccl"``.
        vendor: ``"npu"`` or ``"hccl"``.
    """

    cuda: str
    vendor: str

    def is_cuda(self, node: ast.AST) -> bool:
        """Return whether ``node`` is ``"cuda:0"``, ``"torch.cuda.FloatTensor"``, ``Backend.NCCL``, ..."""
        return _spells(self.cuda, node)

    def is_vendor(self, node: ast.AST) -> bool:
        """Return whether ``node`` is a literal that spells the vendor's side in the same way."""
        return _spells(self.vendor, node)

    def translated(self, literal: ast.Constant) -> ast.Constant:
        """Return the CUDA ``literal`` as the vendor spells it."""
        spelling = str(literal.value).replace(self.cuda, self.vendor, 1)
        return ast.copy_location(ast.Constant(spelling), literal)


@dataclass(frozen=True, slots=True)
class Literals:
    """What comparisons against CUDA literals are to accept as well.

    Attributes:
        words: CUDA's words with what each backend in question says instead.
    """

    words: tuple[Word, ...]

    @classmethod
    def of(cls, *backends: Backend) -> Literals | None:
        """Return the literals of ``backends``, or None where comparisons are right as they stand."""
        rewriting = [backend for backend in backends if backend.table.facts.literals]
        devices = (Word("cuda", backend.device_type) for backend in rewriting)
        collectives = (Word("nccl", backend.collective) for backend in rewriting)
        return cls((*devices, *collectives)) if rewriting else None

    @property
    def tag(self) -> str:
        """What tells bytecode rewritten for these literals from any other; letters and digits only."""
        vendors = "".join(word.vendor for word in self.words)
        return f"morph{FORMAT}{re.sub('[^A-Za-z0-9]', '', vendors)}"


def rewritten(source: str | bytes, path: str, literals: Literals) -> ast.Module | None:
    """Return the syntax tree of ``source``, rewritten, or None if it has no comparison to rewrite.

    Raises:
        SyntaxError: As for :func:`compile`.
    """
    tree = ast.parse(source, path)
    return tree if rewrite(tree, literals) else None


def rewrite(tree: ast.Module, literals: Literals) -> bool:
    """Rewrite the syntax tree of a module, or of a notebook's cell, in place; tell whether anything was."""
    passes = [Rewriting(word) for word in literals.words]
    for one in passes:
        one.apply(tree)
    if any(one.calls_helper for one in passes):
        _import_helper(tree)
    return any(one.changed for one in passes)


# what is rewritten or decides; most of a tree is neither
_CONCERNED = (ast.If, ast.IfExp, ast.BoolOp, ast.Compare, ast.Call, ast.Match, ast.match_case, ast.pattern)


class Rewriting:
    """Rewrites a syntax tree, in place, for one word.

    It walks instead of visiting, since a long chain of ``elif`` or ``+`` nests deeper than Python calls can.

    Attributes:
        changed: Whether anything was rewritten.
        calls_helper: Whether the tree now calls ``cuda_spelling``.
    """

    def __init__(self, word: Word) -> None:
        self._word = word
        self._native: set[ast.AST] = set()
        self.changed = self.calls_helper = False

    def apply(self, tree: ast.AST) -> None:
        """Rewrite ``tree``."""
        for node in ast.walk(tree):
            if isinstance(node, _CONCERNED):
                self._leave_native(node)
                if node not in self._native:
                    self._rewrite(node)

    def _leave_native(self, node: ast.AST) -> None:
        """Mark a decision that names the vendor's own spelling: its author has seen to it."""
        parts = [part for whole in _decision(node) for part in ast.walk(whole)]
        if any(map(self._word.is_vendor, parts)):
            self._native.update(parts)

    def _rewrite(self, node: ast.AST) -> None:
        match node:
            case ast.Compare(ops=[ast.In() | ast.NotIn()]):
                self._membership(node)
            case ast.Compare(ops=operators) if {*map(type, operators)} <= {ast.Eq, ast.NotEq}:
                self._equality(node)
            case ast.Call(func=ast.Attribute(attr="startswith") as method, args=[prefix], keywords=[]):
                self._prefix(method, prefix)
            case ast.pattern() | ast.match_case():
                self._patterns(node)

    def _equality(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        if any(map(self._word.is_cuda, operands)):
            node.left, *node.comparators = map(self._spelled, operands)

    def _membership(self, node: ast.Compare) -> None:
        [container] = node.comparators
        if self._word.is_cuda(node.left):
            node.comparators = [self._spelled(container)]
        elif self._word.is_cuda(container):
            node.left = self._spelled(node.left)
        elif isinstance(container, ast.Tuple | ast.List | ast.Set):
            container.elts += [*self._translations(container.elts)]

    def _prefix(self, method: ast.Attribute, prefix: ast.expr) -> None:
        prefixes = prefix.elts if isinstance(prefix, ast.Tuple) else [prefix]
        if any(map(self._word.is_cuda, prefixes)):
            method.value = self._spelled(method.value)

    def _patterns(self, parent: ast.AST) -> None:
        for field, value in ast.iter_fields(parent):
            if isinstance(value, ast.pattern):
                setattr(parent, field, self._alternatives(value))
            elif isinstance(value, list) and field.endswith("patterns"):
                setattr(parent, field, [*map(self._alternatives, value)])

    def _alternatives(self, pattern: ast.pattern) -> ast.pattern:
        if pattern in self._native or not isinstance(pattern, ast.MatchValue):
            return pattern
        values = self._translations([pattern.value])
        vendors = [ast.copy_location(ast.MatchValue(value), value) for value in values]
        return ast.copy_location(ast.MatchOr([pattern, *vendors]), pattern) if vendors else pattern

    def _translations(self, nodes: list[ast.expr]) -> Iterator[ast.Constant]:
        for node in nodes:
            if isinstance(node, ast.Constant) and self._word.is_cuda(node):
                self.changed = True
                yield self._word.translated(node)

    def _spelled(self, operand: ast.expr) -> ast.expr:
        if isinstance(operand, ast.Constant | ast.Dict):
            return operand
        self.changed = self.calls_helper = True
        words = [ast.Constant(self._word.vendor), ast.Constant(self._word.cuda)]
        call = ast.Call(ast.Name(HELPER, ast.Load()), [operand, *words], [])
        for new in [call, call.func, *words]:
            ast.copy_location(new, operand)
        return call


def _spells(word: str, node: ast.AST) -> bool:
    match node:
        case ast.Constant(value=str(text)):
            return re.fullmatch(rf"{word}(:\d*)?|torch\.{word}(\.\w*)?", text) is not None
        case ast.Attribute(attr=name, value=ast.Name("Backend") | ast.Attribute(attr="Backend")):
            return name == word.upper()  # torch.distributed.Backend.NCCL
    return False


def _decision(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what decides together in ``node``: the tests of an if-elif chain, the patterns of a match."""
    match node:
        case ast.If() | ast.IfExp():
            yield from _tests(node)
        case ast.Match(cases=cases):
            yield from (case.pattern for case in cases)
        case ast.BoolOp() | ast.Compare() | ast.Call(func=ast.Attribute(attr="startswith")):
            yield node


def _tests(branch: ast.AST) -> Iterator[ast.AST]:
    while isinstance(branch, ast.If | ast.IfExp):
        yield branch.test
        otherwise = branch.orelse if isinstance(branch.orelse, list) else [branch.orelse]
        branch = otherwise[0] if len(otherwise) == 1 else ast.Pass()


def _import_helper(tree: ast.Module) -> None:
    """Import the helper before the first statement that runs, on that statement's line."""
    index = next(index for index, statement in enumerate(tree.body) if not _comes_first(index, statement))
    first = tree.body[index]
    where = next(iter(getattr(first, "decorator_list", [])), first)
    name = ast.copy_location(ast.alias("cuda_spelling", HELPER), where)
    statement = ast.ImportFrom("morph.finders.rewriting.spelling", [name], 0)
    tree.body.insert(index, ast.copy_location(statement, where))


def _comes_first(index: int, statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return index == 0
        case ast.ImportFrom(module="__future__"):
            return True
        case _:
            return False

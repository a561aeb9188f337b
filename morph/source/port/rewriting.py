"""Rewrites a module, use by use."""

from __future__ import annotations

import ast

from morph.source.port.calls import Calls
from morph.source.port.conditions import is_demanded, is_divisor, is_guarded
from morph.source.port.expressions import Arguments, is_none, parenthesised
from morph.source.port.replacements import Replacement, facts
from morph.source.port.source import Source
from morph.source.port.statements import Statements, set_everywhere
from morph.source.port.texts import Texts
from morph.source.port.vocabulary import AVAILABLE, Vocabulary
from morph.source.scan.uses import Kind, Use


class Rewriter:
    """Rewrites every use that has a replacement, and leaves everything else unchanged.

    Args:
        source: The module, whose draft is changed.
        vocabulary: The names of the stand-ins in the module.

    Attributes:
        done: The uses that were rewritten.
    """

    def __init__(self, source: Source, vocabulary: Vocabulary) -> None:
        self._source = source
        self._draft = source.draft
        self._vocabulary = vocabulary
        self._statements = Statements(source, vocabulary)
        self.done: set[Use] = set()
        self._texts = Texts(source, vocabulary, self.done)
        self._calls = Calls(self._texts, source, vocabulary, self.done)

    def rewrite(self) -> None:
        """Rewrite the module."""
        for node in self._source.nodes:
            self._rewrite(node)
            for block in ("body", "orelse", "finalbody"):
                found = getattr(node, block, None)
                if isinstance(found, list):
                    self._statements.block(found)

    def _rewrite(self, node: ast.AST) -> None:
        match node:
            case ast.Attribute():
                self._attribute(node)
            case ast.Name():
                self.done.update(self._bound_elsewhere(node))
                self._named(node)
            case ast.Call():
                self._call(node)
            case ast.Constant(value=str()) | ast.JoinedStr():
                self._texts.text(node)
            case ast.BinOp():
                self._texts.operation(node)
            case ast.Compare():
                compared = self._texts.comparison(node)
                if compared:
                    self._put(node, compared)
            case ast.UnaryOp(op=ast.Not(), operand=ast.Attribute() as placement):
                if self._source.uses_at(placement, Kind.METHOD):
                    self._draft.replace(node, self._texts.placement(placement, "!="))
            case ast.Assign():
                use = set_everywhere(self._source, node)
                self.done.update([use] if use else [])

    def _put(self, node: ast.expr, new: str) -> None:
        """Put an expression in the place of a node, with parentheses where it needs them."""
        self._draft.replace(node, parenthesised(self._draft, new, node, self._source.parent(node)))

    def _attribute(self, node: ast.Attribute) -> None:
        """Rewrite a dotted name that is not called, and ``.is_cuda``, unless the operand of a ``not``."""
        uses = self._source.uses_at(node, Kind.METHOD)
        if not uses:
            self._named(node)
            return
        self.done.update(uses)
        parent = self._source.parent(node)
        if not isinstance(parent, ast.UnaryOp) or not isinstance(parent.op, ast.Not):
            self._put(node, self._texts.placement(node, "=="))

    def _call(self, call: ast.Call) -> None:
        """Rewrite a call of CUDA's, and the devices of other calls."""
        for use in self._source.uses_at(call, Kind.METHOD):
            return self._calls.moved(use, call)
        for use in self._replaceable(call.func):
            return self._called(use, call)
        match call.func:
            case ast.Attribute(attr="record_stream") if not is_guarded(self._source, call):
                line = self._source.line(call)
                if line:  # the CPU does not support it
                    self._statements.guarded.add(line)
        return self._calls.call(call)

    def _replaceable(self, node: ast.expr) -> list[Use]:
        """Return the use of a dotted name, if it stands for one name only, which has a replacement."""
        has_comment = "#" in self._draft.text[slice(*self._draft.places.span(node))]
        uses = [] if has_comment else self._source.uses_at(node, Kind.NAME)
        return uses if len(uses) == 1 and len(self._source.names(node)) == 1 and _replacement(uses[0]) else []

    def _bound_elsewhere(self, node: ast.Name) -> list[Use]:
        """Return the uses of a module's name, if its binding is rewritten."""
        uses = self._source.uses_at(node, Kind.NAME)
        fits = [(replacement := _replacement(use)) is not None and replacement.is_plain for use in uses]
        return uses if len(self._source.names(node)) > 1 and all(fits) else []

    def _named(self, node: ast.Name | ast.Attribute) -> None:
        parent = self._source.parent(node)
        if isinstance(parent, ast.Call) and parent.func is node:
            return
        for use in self._replaceable(node):
            replacement = _replacement(use)
            if replacement and replacement.as_reference:
                self._finish(use, replacement)
                self._draft.replace(node, self._vocabulary.of(replacement.as_reference))

    def _finish(self, use: Use, replacement: Replacement) -> None:
        if not replacement.look:
            self.done.add(use)

    def _called(self, use: Use, call: ast.Call) -> None:
        replacement = _replacement(use)
        assert replacement is not None
        arguments, line = Arguments(self._draft, call), self._source.line(call)
        if replacement.drop:
            if line:
                self._statements.dropped.add(line)
                self.done.add(use)
        elif replacement.argument:
            match call:
                case ast.Call(args=[value], keywords=[]) if arguments.are_known and not is_none(value):
                    self.done.add(use)
                    self._draft.replace(call, self._draft.code(value))
        elif _fits(replacement, arguments):
            self._finish(use, replacement)
            self._pass(replacement, arguments)
            self._draft.replace(call.func, self._vocabulary.of(replacement.to or replacement.stand_in))
            self._with_accelerator(call, line, replacement)

    def _pass(self, replacement: Replacement, arguments: Arguments) -> None:
        first, last = (self._vocabulary.spelled(text) for text in (replacement.first, replacement.last))
        arguments.add([first], [last])
        for index, each in enumerate(arguments.given):
            if replacement.pass_by == "position":
                arguments.pass_by_position(each)
            elif replacement.pass_by == "name" and not each.keyword:
                arguments.pass_by_name(each, replacement.parameters[index])

    def _with_accelerator(self, call: ast.Call, line: ast.stmt | None, replacement: Replacement) -> None:
        """Guard a call by the presence of an accelerator if it needs one."""
        if line:
            self._statements.called(replacement.to, line)
        is_needed = is_demanded(self._source, call) or is_divisor(self._source, call)
        without = replacement.demanded if is_needed and replacement.demanded else replacement.without
        if not without or (without != replacement.demanded and is_guarded(self._source, call)):
            return
        if without == "pass" and line:
            self._statements.guarded.add(line)
            return
        available = self._vocabulary.spelled(AVAILABLE)
        otherwise = "None" if without == "pass" else without
        self._put(call, f"{self._draft.code(call)} if {available} else {otherwise}")


def _fits(replacement: Replacement, arguments: Arguments) -> bool:
    """Return whether the arguments of a call are known in its replacement's form."""
    if not replacement.pass_by:
        return True
    without_name = [each for each in arguments.given if not each.keyword]
    passed = arguments.given if replacement.pass_by == "position" else without_name
    return arguments.are_known and len(passed) <= len(replacement.parameters)


def _replacement(use: Use) -> Replacement | None:
    return facts().replacement(use.name)

"""Rewrites the tree of a module, use by use."""

from __future__ import annotations

import libcst as cst

from morph.source.port.calls import Calls
from morph.source.port.conditions import is_demanded, is_divisor, is_guarded
from morph.source.port.environment import chosen_everywhere
from morph.source.port.expressions import arguments, has_comment, is_none, parenthesised, parse
from morph.source.port.replacements import Replacement, facts
from morph.source.port.source import Source
from morph.source.port.statements import Statements
from morph.source.port.texts import Texts
from morph.source.port.vocabulary import AVAILABLE, Vocabulary
from morph.source.scan.uses import Kind, Use


class Rewriter(cst.CSTTransformer):
    """Rewrites every use that has a replacement, and leaves everything else unchanged.

    Args:
        source: The module.
        vocabulary: The names of the stand-ins in the module.

    Attributes:
        done: The uses that were rewritten.
    """

    def __init__(self, source: Source, vocabulary: Vocabulary) -> None:
        super().__init__()
        self._source = source
        self._vocabulary = vocabulary
        self._statements = Statements(vocabulary)
        self.done: set[Use] = set()
        self._placements: set[cst.CSTNode] = set()
        self._texts = Texts(source, vocabulary, self.done)
        self._calls = Calls(source, vocabulary, self._texts, self.done)

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        """Rewrite a dotted name that is not called, and ``.is_cuda``."""
        for use in self._source.uses_at(original_node, Kind.METHOD):
            self.done.add(use)
            return self._is_on_accelerator(original_node, updated_node)
        return self._named(original_node, updated_node)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        """Rewrite a name that is not called."""
        self.done.update(self._bound_elsewhere(original_node))
        return self._named(original_node, updated_node)

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        """Rewrite a call of CUDA's, and the devices of other calls."""
        for use in self._source.uses_at(original_node, Kind.METHOD):
            return self._calls.moved(use, original_node, updated_node)
        for use in self._replaceable(original_node.func):
            return self._called(use, original_node, updated_node)
        self._guard_record_stream(original_node)
        return self._calls.call(original_node, updated_node)

    def leave_SimpleString(
        self, original_node: cst.SimpleString, updated_node: cst.SimpleString
    ) -> cst.BaseExpression:
        """Rewrite a device or a backend as text."""
        return self._texts.text(original_node, updated_node)

    def leave_FormattedString(
        self, original_node: cst.FormattedString, updated_node: cst.FormattedString
    ) -> cst.BaseExpression:
        """Rewrite a device whose number is inserted."""
        return self._texts.text(original_node, updated_node)

    def leave_BinaryOperation(
        self, original_node: cst.BinaryOperation, updated_node: cst.BinaryOperation
    ) -> cst.BaseExpression:
        """Rewrite ``"cuda:%d" % number`` and ``"cuda:" + str(number)``."""
        return self._texts.operation(original_node, updated_node)

    def leave_Comparison(
        self, original_node: cst.Comparison, updated_node: cst.Comparison
    ) -> cst.BaseExpression:
        """Rewrite a comparison with ``"nccl"``."""
        compared = self._texts.comparison(original_node, updated_node)
        if compared is updated_node:
            return compared
        return parenthesised(compared, self._source.parent(original_node), original_node)

    def leave_Assign(self, original_node: cst.Assign, updated_node: cst.Assign) -> cst.BaseSmallStatement:
        """Set every vendor's variable where ``CUDA_VISIBLE_DEVICES`` is set."""
        found = chosen_everywhere(self._source, original_node, updated_node)
        if found is None:
            return updated_node
        use, statement = found
        self.done.add(use)
        return statement

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.BaseStatement:
        """Run a statement only with an accelerator, or remove it, where an expression in it needs that."""
        return self._statements.line(original_node, updated_node)

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        """Combine neighbouring rewritten statements."""
        return updated_node.with_changes(body=self._statements.joined(updated_node.body))

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        """Combine neighbouring rewritten statements."""
        return updated_node.with_changes(body=self._statements.joined(updated_node.body))

    def leave_UnaryOperation(
        self, original_node: cst.UnaryOperation, updated_node: cst.UnaryOperation
    ) -> cst.BaseExpression:
        """Write ``x.device.type != accelerator`` for ``not x.is_cuda``."""
        inner = updated_node.expression
        if not isinstance(updated_node.operator, cst.Not) or inner not in self._placements:
            return updated_node
        assert isinstance(inner, cst.Comparison)
        target = inner.comparisons[0].with_changes(operator=cst.NotEqual())
        return inner.with_changes(comparisons=[target], lpar=updated_node.lpar, rpar=updated_node.rpar)

    def _replaceable(self, node: cst.CSTNode) -> list[Use]:
        """Return the use of a dotted name, if it stands for one name only, which has a replacement."""
        uses = [] if has_comment(node) else self._source.uses_at(node, Kind.NAME)
        return uses if len(uses) == 1 and len(self._source.names(node)) == 1 and _replacement(uses[0]) else []

    def _bound_elsewhere(self, node: cst.Name) -> list[Use]:
        """Return the uses of a module's name, if its binding is rewritten."""
        uses = self._source.uses_at(node, Kind.NAME)
        fits = [(replacement := _replacement(use)) is not None and replacement.is_plain for use in uses]
        return uses if len(self._source.names(node)) > 1 and all(fits) else []

    def _named(self, original: cst.Name | cst.Attribute, updated: cst.BaseExpression) -> cst.BaseExpression:
        parent = self._source.parent(original)
        if isinstance(parent, cst.Call) and parent.func is original:
            return updated
        for use in self._replaceable(original):
            replacement = _replacement(use)
            text = replacement.as_reference if replacement else ""
            if text:
                self._finish(use, replacement)
                return self._expression(text, original)
        return updated

    def _expression(self, text: str, was: cst.BaseExpression) -> cst.BaseExpression:
        """Return ``text``, or the stand-in of that name, with the parentheses of the replaced expression."""
        return parse(self._vocabulary.of(text)).with_changes(lpar=was.lpar, rpar=was.rpar)

    def _finish(self, use: Use, replacement: Replacement | None) -> None:
        if replacement and not replacement.look:
            self.done.add(use)

    def _is_on_accelerator(self, original: cst.Attribute, updated: cst.Attribute) -> cst.BaseExpression:
        """Return ``x.device.type == accelerator`` for ``x.is_cuda``."""
        compared = self._texts.placement(original, updated)
        placement = parenthesised(compared, self._source.parent(original), original)
        self._placements.add(placement)
        return placement

    def _called(self, use: Use, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        replacement = _replacement(use)
        assert replacement is not None
        if replacement.drop:
            return self._dropped(use, original, updated)
        if replacement.argument:
            return self._argument(use, updated)
        first, last = (self._vocabulary.spelled(text) for text in (replacement.first, replacement.last))
        passed = arguments(updated.args, replacement, first, last)
        if passed is None:
            return updated
        self._finish(use, replacement)
        function = self._expression(replacement.to or replacement.stand_in, original.func)
        return self._with_accelerator(original, updated.with_changes(func=function, args=passed), replacement)

    def _guard_record_stream(self, original: cst.Call) -> None:
        """Skip ``tensor.record_stream()`` where there is no accelerator; the CPU does not support it."""
        match original.func:
            case cst.Attribute(attr=cst.Name("record_stream")) if not is_guarded(self._source, original):
                line = self._line(original)
                if line is not None:
                    self._statements.guard(line)

    def _dropped(self, use: Use, original: cst.Call, updated: cst.Call) -> cst.Call:
        line = self._line(original)
        if line is not None:
            self._statements.drop(line)
            self.done.add(use)
        return updated

    def _argument(self, use: Use, updated: cst.Call) -> cst.BaseExpression:
        match updated.args:
            case [cst.Arg(value=value, star="")] if not is_none(value):
                self.done.add(use)
                return value
        return updated

    def _with_accelerator(
        self, original: cst.Call, call: cst.Call, replacement: Replacement
    ) -> cst.BaseExpression:
        """Return ``call``, guarded by the presence of an accelerator if it needs one."""
        line = self._line(original)
        if replacement.to in ("torch.manual_seed", "torch.seed") and line is not None:
            self._statements.seed(line)
        if replacement.demanded and (
            is_demanded(self._source, original) or is_divisor(self._source, original)
        ):
            return self._either(original, call, replacement.demanded)
        if not replacement.without or is_guarded(self._source, original):
            return call
        if replacement.without == "pass" and line is not None:
            self._statements.guard(line)
            return call
        return self._either(original, call, "None" if replacement.without == "pass" else replacement.without)

    def _either(self, original: cst.Call, call: cst.Call, without: str) -> cst.BaseExpression:
        """Return a conditional expression: ``call`` with an accelerator, a value without."""
        available = parse(self._vocabulary.spelled(AVAILABLE))
        either = cst.IfExp(test=available, body=call.with_changes(lpar=[], rpar=[]), orelse=parse(without))
        return parenthesised(either, self._source.parent(original), original)

    def _line(self, call: cst.Call) -> cst.SimpleStatementLine | None:
        """Return the line of a block that consists of ``call`` only, or None."""
        statement = self._source.parent(call)
        line = self._source.parent(statement) if isinstance(statement, cst.Expr) else None
        is_alone = isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
        return line if is_alone and isinstance(line, cst.SimpleStatementLine) else None


def _replacement(use: Use) -> Replacement | None:
    return facts().replacement(use.name)

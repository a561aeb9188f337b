"""Rewrites devices and backends given as text."""

from __future__ import annotations

import re

import libcst as cst

from morph.source.port.conditions import is_demanded, is_guarded
from morph.source.port.expressions import parse
from morph.source.port.replacements import facts
from morph.source.port.source import Source
from morph.source.port.vocabulary import AVAILABLE, Vocabulary
from morph.source.scan.uses import Kind, Use

KINDS = (Kind.DEVICE, Kind.COMPARISON, Kind.COLLECTIVE, Kind.NAME)
BOTH_BACKENDS = {"cpu:gloo", "cuda:nccl"}
DEFAULT_BACKEND = "torch.distributed.get_default_backend_for_device({device})"
COUNTED = re.compile(r"cuda:(%[ds]|\{\})?")


class Texts:
    """Rewrites the texts of a module.

    Args:
        source: The module.
        vocabulary: The names of the stand-ins in the module.
        done: Receives the rewritten uses.
    """

    def __init__(self, source: Source, vocabulary: Vocabulary, done: set[Use]) -> None:
        self._source = source
        self._vocabulary = vocabulary
        self._done = done

    def text(self, original: cst.BaseString, updated: cst.BaseString) -> cst.BaseExpression:
        """Return the replacement of a text at its place."""
        for use in self._source.uses_at(original, *KINDS):
            became = self._became(use, original, updated)
            if became is not None:
                self._done.add(use)
                return became.with_changes(lpar=updated.lpar, rpar=updated.rpar)
        return updated

    def _became(
        self, use: Use, original: cst.BaseString, updated: cst.BaseString
    ) -> cst.BaseExpression | None:
        if isinstance(self._source.parent(original), cst.MatchValue | cst.ConcatenatedString):
            return None
        if use.kind is Kind.NAME:
            return self._tensor_type(use)
        if "nccl" in use.name:
            return self._collective(use) if use.kind is Kind.COLLECTIVE else None
        if use.kind is Kind.COMPARISON:
            return self._compared(use, original, updated)
        return self._device(original, updated)

    def _tensor_type(self, use: Use) -> cst.BaseExpression | None:
        """Return the replacement of ``"torch.cuda.FloatTensor"``; None for any other name."""
        replacement = facts().replacement(use.name)
        if replacement is None or not replacement.stand_in.startswith("tensor_types."):
            return None
        return parse(f"{self._vocabulary.torch}.typename({self._vocabulary.of(replacement.stand_in)})")

    def _collective(self, use: Use) -> cst.BaseExpression | None:
        """Return the replacement of ``"nccl"`` and ``"cpu:gloo,cuda:nccl"``."""
        if use.name == '"nccl"':
            return parse(self._vocabulary.spelled(DEFAULT_BACKEND))
        is_both = {*use.name.strip('"').split(",")} == BOTH_BACKENDS
        return parse(self._vocabulary.name("host_and_device")) if is_both else None

    def _compared(
        self, use: Use, original: cst.BaseString, updated: cst.BaseString
    ) -> cst.BaseExpression | None:
        """Return the type of the accelerator, with the number in the text."""
        number = self._number(updated)
        if number is None:
            return parse(self.accelerator(original)) if use.name == '"cuda"' else None
        inserted = f"{{{_code(number)}}}" if not isinstance(number, cst.Integer) else number.value
        return parse(f'f"{{{self.accelerator(original)}}}:{inserted}"')

    def accelerator(self, node: cst.CSTNode) -> str:
        """Return the operand for comparing a device type at ``node``.

        Where there is no accelerator a condition should be false, but an assertion true.
        """
        demanded = is_demanded(self._source, node)
        return f"{self._vocabulary.device}.type" if demanded else self._vocabulary.accelerator

    def placement(self, original: cst.Attribute, updated: cst.Attribute) -> cst.Comparison:
        """Return ``x.device.type == accelerator`` for ``x.is_cuda``."""
        packed = self._source.makes_packed(original.value)
        value = cst.Attribute(updated.value, cst.Name("data")) if packed else updated.value
        kind = cst.Attribute(cst.Attribute(value, cst.Name("device")), cst.Name("type"))
        wanted = parse(self.accelerator(original))
        return cst.Comparison(kind, [cst.ComparisonTarget(cst.Equal(), wanted)])

    def _device(self, original: cst.BaseString, updated: cst.BaseString) -> cst.BaseExpression | None:
        """Return the module's device, or its type, or the device of a number."""
        as_object = self._takes_object(original)
        number = self._number(updated)
        if number is not None:
            device = self.numbered(number)
            return device if as_object else cst.Call(cst.Name("str"), [cst.Arg(device)])
        if isinstance(updated, cst.SimpleString) and updated.evaluated_value == "cuda":
            return parse(self._vocabulary.device + ("" if as_object else ".type"))
        return None

    def numbered(self, number: cst.BaseExpression) -> cst.BaseExpression:
        """Return the device of a number."""
        return cst.Call(cst.Name(self._vocabulary.name("device_at")), [cst.Arg(number)])

    def _number(self, text: cst.BaseString) -> cst.BaseExpression | None:
        """Return the number in a device's text: that of ``"cuda:0"``, or the inserted expression."""
        match text:
            case cst.SimpleString(evaluated_value=str(value)) if re.fullmatch(r"cuda:\d+", value):
                return cst.Integer(str(int(value.partition(":")[2])))
            case cst.FormattedString(
                parts=[
                    cst.FormattedStringText(value="cuda:"),
                    cst.FormattedStringExpression(expression=number, conversion=None, format_spec=None),
                ]
            ):
                return number
        return None

    def _takes_object(self, node: cst.CSTNode) -> bool:
        """Return whether the function that ``node`` is passed to accepts a torch.device."""
        parent = self._source.parent(node)
        call = self._source.parent(parent) if isinstance(parent, cst.Arg) else None
        if not isinstance(call, cst.Call) or not isinstance(parent, cst.Arg):
            return False
        keyword = parent.keyword.value if parent.keyword else ""
        if isinstance(call.func, cst.Attribute) and call.func.attr.value in ("to", "cuda"):
            return True
        names = self._source.names(call.func)
        is_torch = bool(names) and all(name.startswith("torch.") for name in names)
        as_text = keyword in facts().text_parameters or any(map(facts().takes_text, names))
        return is_torch and not as_text

    def formatted(self, text: cst.SimpleString, number: cst.BaseExpression) -> cst.BaseExpression | None:
        """Return the replacement of ``"cuda:%d"`` and the like with their number; None for other texts."""
        uses = self._source.uses_at(text, Kind.DEVICE)
        if not uses or not COUNTED.fullmatch(str(text.evaluated_value)):
            return None
        self._done.update(uses)
        return cst.Call(cst.Name("str"), [cst.Arg(self.numbered(_bare(number)))])

    def operation(self, original: cst.BinaryOperation, updated: cst.BinaryOperation) -> cst.BaseExpression:
        """Return the replacement of ``"cuda:%d" % number`` or ``"cuda:" + str(number)``."""
        match original.left, original.operator, updated.right:
            case cst.SimpleString() as text, cst.Modulo(), number:
                return self.formatted(text, number) or updated
            case cst.SimpleString() as text, cst.Add(), cst.Call(func=cst.Name("str"), args=[number]):
                return self.formatted(text, number.value) or updated
        return updated

    def comparison(self, original: cst.Comparison, updated: cst.Comparison) -> cst.BaseExpression:
        """Return the replacement of a comparison with ``"nccl"``, which is false without an accelerator."""
        operands = [original.left, *(each.comparator for each in original.comparisons)]
        uses = [use for each in operands for use in self._source.uses_at(each, Kind.COMPARISON)]
        if [use.name for use in uses] != ['"nccl"'] or len(operands) != 2:
            return updated
        [target] = updated.comparisons
        operator = target.operator
        other = target.comparator if self._source.uses_at(original.left, Kind.COMPARISON) else updated.left
        if not isinstance(operator, cst.Equal | cst.NotEqual):
            return updated
        self._done.update(uses)
        backend = cst.ComparisonTarget(operator, parse(self._vocabulary.spelled(DEFAULT_BACKEND)))
        compared = cst.Comparison(other, [backend])
        if is_guarded(self._source, original):
            return compared
        available = parse(self._vocabulary.spelled(AVAILABLE))
        if isinstance(operator, cst.NotEqual):
            return cst.BooleanOperation(cst.UnaryOperation(cst.Not(), available), cst.Or(), compared)
        return cst.BooleanOperation(available, cst.And(), compared)


def _code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def _bare(number: cst.BaseExpression) -> cst.BaseExpression:
    """Return the number in ``% (number,)``, or the operand itself."""
    match number:
        case cst.Tuple(elements=[cst.Element(value=only)]):
            return only
    return number

"""Rewrites devices and backends given as text."""

from __future__ import annotations

import ast
import re

from morph.source.port.conditions import is_demanded, is_guarded
from morph.source.port.replacements import facts
from morph.source.port.source import Source
from morph.source.port.vocabulary import AVAILABLE, Vocabulary
from morph.source.scan.texts import Role, role_of
from morph.source.scan.uses import Kind, Use

KINDS = (Kind.DEVICE, Kind.COMPARISON, Kind.COLLECTIVE, Kind.NAME)
BOTH_BACKENDS = {"cpu:gloo", "cuda:nccl"}
DEFAULT_BACKEND = "torch.distributed.get_default_backend_for_device({device})"
COUNTED = re.compile(r"cuda:(%[ds]|\{\})?")
_ONE_LITERAL = re.compile(r"""\w*('''|\"""|'|")[^'"]*\1""")
Text = ast.Constant | ast.JoinedStr


class Part:
    """Rewrites a part of a module.

    Args:
        source: The module.
        vocabulary: The names of the stand-ins in the module.
        done: Receives the rewritten uses.
    """

    def __init__(self, source: Source, vocabulary: Vocabulary, done: set[Use]) -> None:
        self._source = source
        self._draft = source.draft
        self._vocabulary = vocabulary
        self._done = done


class Texts(Part):
    """Rewrites the texts of a module."""

    def text(self, node: Text) -> None:
        """Rewrite a text at its place, unless it is part of another, or stands in several literals."""
        uses = self._source.uses_at(node, *KINDS)
        parent = self._source.parent(node)
        if not uses or isinstance(parent, ast.MatchValue | ast.JoinedStr | ast.FormattedValue):
            return
        start, end = self._draft.places.span(node)
        if isinstance(node, ast.Constant) and not _ONE_LITERAL.fullmatch(self._draft.text, start, end):
            return
        became = self._became(uses[0], node)
        if became:
            self._done.add(uses[0])
            self._draft.replace(node, became)

    def _became(self, use: Use, node: Text) -> str | None:
        if use.kind is Kind.NAME:
            return self._tensor_type(use)
        if "nccl" in use.name:
            return self._collective(use) if use.kind is Kind.COLLECTIVE else None
        return self._compared(use, node) if use.kind is Kind.COMPARISON else self._device(node)

    def _tensor_type(self, use: Use) -> str | None:
        """Return the replacement of ``"torch.cuda.FloatTensor"``; None for any other name."""
        replacement = facts().replacement(use.name)
        if replacement is None or not replacement.stand_in.startswith("tensor_types."):
            return None
        return f"{self._vocabulary.torch}.typename({self._vocabulary.of(replacement.stand_in)})"

    def _collective(self, use: Use) -> str | None:
        """Return the replacement of ``"nccl"`` and ``"cpu:gloo,cuda:nccl"``."""
        if use.name == '"nccl"':
            return self._vocabulary.spelled(DEFAULT_BACKEND)
        is_both = {*use.name.strip('"').split(",")} == BOTH_BACKENDS
        return self._vocabulary.name("host_and_device") if is_both else None

    def _compared(self, use: Use, node: Text) -> str | None:
        """Return the type of the accelerator, with the number in the text."""
        if role_of(self._source.resolution, node) is not Role.COMPARED:
            return None
        number = self._number(node)
        if number is None:
            return self.accelerator(node) if use.name == '"cuda"' else None
        inserted = number if number.isdecimal() else f"{{{number}}}"
        return f'f"{{{self.accelerator(node)}}}:{inserted}"'

    def accelerator(self, node: ast.AST) -> str:
        """Return the operand for comparing a device type at ``node``.

        Where there is no accelerator a condition should be false, but an assertion true.
        """
        demanded = is_demanded(self._source, node)
        return f"{self._vocabulary.device}.type" if demanded else self._vocabulary.accelerator

    def placement(self, node: ast.Attribute, operator: str) -> str:
        """Return ``x.device.type == accelerator`` for ``x.is_cuda``."""
        data = ".data" if self._source.makes_packed(node.value) else ""
        attribute = self._draft.places.span(node)[1] - len(node.attr)
        owner = self._draft.code((self._draft.places.span(node)[0], attribute))
        return f"{owner.removesuffix('.')}{data}.device.type {operator} {self.accelerator(node)}"

    def _device(self, node: Text) -> str | None:
        """Return the module's device, or its type, or the device of a number."""
        as_object = self._takes_object(node)
        number = self._number(node)
        if number is not None:
            device = self.numbered(number)
            return device if as_object else f"str({device})"
        if isinstance(node, ast.Constant) and node.value == "cuda":
            return self._vocabulary.device + ("" if as_object else ".type")
        return None

    def numbered(self, number: str) -> str:
        """Return the device of a number."""
        return f"{self._vocabulary.name('device_at')}({number})"

    def _number(self, node: Text) -> str | None:
        """Return the number in a device's text: that of ``"cuda:0"``, or the inserted expression."""
        match node:
            case ast.Constant(value=str(value)) if re.fullmatch(r"cuda:\d+", value):
                return str(int(value.partition(":")[2]))
            case ast.JoinedStr(
                values=[
                    ast.Constant(value="cuda:"),
                    ast.FormattedValue(value=number, conversion=-1, format_spec=None),
                ]
            ):
                return self._draft.code(number)
        return None

    def _takes_object(self, node: ast.AST) -> bool:
        """Return whether the function that ``node`` is passed to accepts a torch.device."""
        parent = self._source.parent(node)
        keyword = parent.arg or "" if isinstance(parent, ast.keyword) else ""
        call = self._source.parent(parent) if isinstance(parent, ast.keyword) else parent
        if not isinstance(call, ast.Call):
            return False
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("to", "cuda"):
            return True
        names = self._source.names(call.func)
        is_torch = bool(names) and all(name.startswith("torch.") for name in names)
        as_text = keyword in facts().text_parameters or any(map(facts().takes_text, names))
        return is_torch and not as_text

    def formatted(self, node: ast.expr, text: ast.Constant, number: ast.expr) -> bool:
        """Rewrite ``"cuda:%d"`` and the like with their number, and return whether it is one of these."""
        uses = self._source.uses_at(text, Kind.DEVICE)
        if not uses or not COUNTED.fullmatch(str(text.value)):
            return False
        self._done.update(uses)
        bare = number.elts[0] if isinstance(number, ast.Tuple) and len(number.elts) == 1 else number
        self._draft.replace(node, f"str({self.numbered(self._draft.code(bare))})")
        return True

    def operation(self, node: ast.BinOp) -> None:
        """Rewrite ``"cuda:%d" % number`` and ``"cuda:" + str(number)``."""
        match node:
            case ast.BinOp(left=ast.Constant() as text, op=ast.Mod(), right=number):
                self.formatted(node, text, number)
            case ast.BinOp(
                left=ast.Constant() as text, op=ast.Add(), right=ast.Call(func=ast.Name("str"), args=[number])
            ):
                self.formatted(node, text, number)

    def comparison(self, node: ast.Compare) -> str | None:
        """Return the replacement of a comparison with ``"nccl"``, which is false without an accelerator."""
        operands = [node.left, *node.comparators]
        uses = [use for each in operands for use in self._source.uses_at(each, Kind.COMPARISON)]
        [operator, *more] = node.ops
        if [use.name for use in uses] != ['"nccl"'] or more or not isinstance(operator, ast.Eq | ast.NotEq):
            return None
        self._done.update(uses)
        other = operands[1] if self._source.uses_at(node.left, Kind.COMPARISON) else node.left
        sign = "==" if isinstance(operator, ast.Eq) else "!="
        backend = self._vocabulary.spelled(DEFAULT_BACKEND)
        compared = f"{self._draft.code(other)} {sign} {backend}"
        available = self._vocabulary.spelled(AVAILABLE)
        if is_guarded(self._source, node):
            return compared
        return f"not {available} or {compared}" if sign == "!=" else f"{available} and {compared}"

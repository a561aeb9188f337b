"""The operators that change code: a selection of cosmic-ray's, and four that it lacks."""

from collections.abc import Iterator, Mapping
from typing import Any

import cosmic_ray.plugins
import parso
from cosmic_ray.operators.operator import Operator

Span = tuple[tuple[int, int], tuple[int, int]]

# An opposite for each, and the boundary for orders; `is` for `==` would only test how Python interns strings.
_COSMIC_RAY = (
    *(f"ReplaceComparisonOperator_{pair}" for pair in ("Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is")),
    *(f"ReplaceComparisonOperator_{pair}" for pair in ("Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt")),
    *(f"ReplaceBinaryOperator_{pair}" for pair in ("Add_Sub", "Sub_Add", "Mul_Add", "Div_Mul")),
    *(f"ReplaceBinaryOperator_{pair}" for pair in ("FloorDiv_Mul", "BitOr_BitAnd", "BitAnd_BitOr")),
    *("ReplaceUnaryOperator_Delete_Not", "ReplaceUnaryOperator_USub_UAdd"),
    *("AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd"),
    *("ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ExceptionReplacer", "NumberReplacer"),
    *("RemoveDecorator", "ZeroIterationForLoop"),
)


class _Own(Operator):  # type: ignore[misc]
    """An operator that makes at most one change per node."""

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()

    def mutation_positions(self, node: Any) -> Iterator[Span]:
        if self.applies(node):
            yield node.start_pos, node.end_pos

    def applies(self, node: Any) -> bool:
        raise NotImplementedError


class ReturnNone(_Own):
    """`return X` becomes `return None`."""

    def applies(self, node: Any) -> bool:
        return bool(node.type == "return_stmt" and node.children[1].get_code().strip() != "None")

    def mutate(self, node: Any, index: int) -> Any:
        return _code(node, "return None")


class LeaveOut(_Own):
    """A call whose result is not used, and a `raise`, become `pass`."""

    def applies(self, node: Any) -> bool:
        if node.parent is None or node.parent.type != "simple_stmt":
            return False
        return bool(node.type == "raise_stmt" or _is_call(node))

    def mutate(self, node: Any, index: int) -> Any:
        return _code(node, "pass")


class ChangeText(_Own):
    """Two letters are appended to a string."""

    def applies(self, node: Any) -> bool:
        return bool(node.type == "string")

    def mutate(self, node: Any, index: int) -> Any:
        quotes = 3 if node.value.endswith(('"""', "'''")) else 1
        node.value = f"{node.value[:-quotes]}XX{node.value[-quotes:]}"
        return node


class ChangeMembership(_Own):
    """`in` becomes `not in`, and the other way round."""

    def applies(self, node: Any) -> bool:
        in_comparison = node.parent is not None and node.parent.type == "comparison"
        return in_comparison and node.get_code().split() in (["in"], ["not", "in"])

    def mutate(self, node: Any, index: int) -> Any:
        return _code(node, "in" if "not" in node.get_code() else "not in")


def operators() -> Mapping[str, Operator]:
    """Return every operator by its name."""
    provided = {name: cosmic_ray.plugins.get_operator(f"core/{name}")() for name in _COSMIC_RAY}
    own = (ReturnNone, LeaveOut, ChangeText, ChangeMembership)
    return {**provided, **{operator.__name__: operator() for operator in own}}


def _is_call(node: Any) -> bool:
    awaited = node.children[1:] if node.type == "atom_expr" and node.children[0] == "await" else None
    last = node.children[-1] if node.type in ("atom_expr", "power") else None
    return bool(awaited or (last is not None and last.type == "trailer" and last.children[0] == "("))


def _code(node: Any, code: str) -> Any:
    return parso.parse(node.get_first_leaf().prefix + code)  # type: ignore[no-untyped-call]

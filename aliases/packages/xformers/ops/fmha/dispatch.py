"""The choice of an operator for a call."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, TypeVar

from ..._morph.inputs import Inputs
from . import cutlass, flash
from .common import AttentionBwOpBase, AttentionFwOpBase

Op = TypeVar("Op", bound="type[Any]")

NAME = "memory_efficient_attention"
_USE_FLASH_ATTENTION_3 = True


def _set_use_fa3(use_flash_attention3: bool) -> None:
    """Say whether FlashAttention 3 should be preferred, which is not available."""
    global _USE_FLASH_ATTENTION_3
    _USE_FLASH_ATTENTION_3 = use_flash_attention3


def _get_use_fa3() -> bool:
    """Return whether FlashAttention 3 should be preferred."""
    return _USE_FLASH_ATTENTION_3


def _dispatch_fw(inp: Inputs, needs_gradient: bool) -> type[AttentionFwOpBase]:
    """Return the operator for the output.

    Raises:
        NotImplementedError: If there is none, with the reasons.
    """
    found: type[AttentionFwOpBase] = _first(f"{NAME}_forward", [flash.FwOp, cutlass.FwOp], inp)
    return found


def _dispatch_bw(inp: Inputs, varlen_lse_packed: bool | None = None) -> type[AttentionBwOpBase]:
    """Return the operator for the gradients.

    Args:
        inp: The arguments.
        varlen_lse_packed: The form of the logarithms from the forward pass; None if any will do.

    Raises:
        NotImplementedError: If there is none, with the reasons.
    """
    operators: list[type[AttentionBwOpBase]] = [flash.BwOp, cutlass.BwOp]
    form = {None, varlen_lse_packed}
    fitting = [each for each in operators if varlen_lse_packed is None or each.VARLEN_LSE_PACKED in form]
    return _first(f"{NAME}_backward", fitting, inp)


def _ensure_op_supports_or_raise(error: type[Exception], name: str, op: Any, inp: Inputs) -> None:
    reasons = op.not_supported_reasons(inp)
    if reasons:
        raise error(f"Operator `{name}` does not support inputs:\n{_described(inp)}\n{_refusal(op, reasons)}")


def _first(name: str, operators: Sequence[Op], inp: Inputs) -> Op:
    refusals = []
    for operator in operators:
        reasons = operator.not_supported_reasons(inp)
        if not reasons:
            return operator
        refusals.append(_refusal(operator, reasons))
    lines = [f"No operator found for `{name}` with inputs:", _described(inp), *refusals]
    raise NotImplementedError("\n".join(lines))


def _refusal(operator: Any, reasons: Sequence[str]) -> str:
    return "\n    ".join([f"`{operator.NAME}` is not supported because:", *reasons])


def _described(inp: Inputs) -> str:
    tensors = {"query": inp.query, "key": inp.key, "value": inp.value}
    lines = [f"{name:<12}: shape={tuple(each.shape)} ({each.dtype})" for name, each in tensors.items()]
    lines += [f"attn_bias   : {type(inp.attn_bias)}", f"p           : {inp.p}"]
    return textwrap.indent("\n".join(lines), "     ")

"""The choice of an operator for a call."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, TypeVar

from ..._morph.inputs import Inputs
from ..._morph.packed import BlockDiagonalMask
from . import cutlass, flash, flash3, triton_splitk
from .common import AttentionBwOpBase, AttentionFwOpBase

Op = TypeVar("Op", bound="type[Any]")

_USE_FLASH_ATTENTION_3 = True


def _set_use_fa3(use_flash_attention3: bool) -> None:
    """Say whether FlashAttention 3 should be preferred, which is not available."""
    global _USE_FLASH_ATTENTION_3
    _USE_FLASH_ATTENTION_3 = use_flash_attention3


def _get_use_fa3() -> bool:
    """Return whether FlashAttention 3 should be preferred."""
    return _USE_FLASH_ATTENTION_3


def fa3_available() -> bool:
    """Return whether FlashAttention 3's operators are available: False."""
    return bool(flash3.FwOp.is_available())


def _dispatch_fw_priority_list(inp: Inputs, needs_gradient: bool) -> Sequence[type[AttentionFwOpBase]]:
    """Return the operators for the output, the preferred one first."""
    if needs_gradient or not _is_decoding(inp):
        return [flash.FwOp, cutlass.FwOp]
    if isinstance(inp.attn_bias, BlockDiagonalMask):
        return [triton_splitk.FwOp, flash.FwOp, cutlass.FwOp]
    return [flash.FwOp, triton_splitk.FwOp, cutlass.FwOp]


def _dispatch_fw(inp: Inputs, needs_gradient: bool) -> type[AttentionFwOpBase]:
    """Return the operator for the output.

    Raises:
        NotImplementedError: If there is none, with the reasons.
    """
    operators = _dispatch_fw_priority_list(inp, needs_gradient)
    return _first("memory_efficient_attention_forward", operators, inp)


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
    return _first("memory_efficient_attention_backward", fitting, inp)


def _ensure_op_supports_or_raise(error: type[Exception], name: str, op: Any, inp: Inputs) -> None:
    reasons = op.not_supported_reasons(inp)
    if reasons:
        raise error(f"Operator `{name}` does not support inputs:\n{_described(inp)}\n{_refusal(op, reasons)}")


def _is_decoding(inp: Inputs) -> bool:
    """Return whether there are few queries, and many keys that several heads share."""
    key, queries = inp.key, inp.query.shape
    shared = key.ndim > 3 and key.stride(-2) == 0 and key.shape[-2] > 1
    rows = queries[0] * (1 if len(queries) == 3 else queries[2])
    return shared and queries[1] <= 32 and key.shape[1] >= 256 and 0 < rows < 64


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

"""Whether fused attention can be used, which torch_mlu asks of parameters of its own class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from morph.aliases.torch_cuda.refusal import lacks


def attention_parameters(
    target: Callable[..., Any],
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any,
    dropout: float,
    is_causal: bool,
    enable_gqa: bool = False,
) -> Any:
    """Answer ``torch.backends.cuda.SDPAParams``.

    Args:
        target: ``torch.backends.mlu.SDPAParams``, which has no ``enable_gqa``.
        query: The queries.
        key: The keys.
        value: The values.
        attn_mask: The mask, or None.
        dropout: The probability of dropping a weight.
        is_causal: Whether no query sees later keys.
        enable_gqa: Refused if true.

    Raises:
        MissingNameError: If ``enable_gqa`` is asked for.
    """
    if enable_gqa:
        reason = "its attention wants as many heads of keys as of queries; repeat the keys and values"
        raise lacks("torch.backends.cuda.SDPAParams(enable_gqa=True)", reason)
    return target(query, key, value, attn_mask, dropout, is_causal)

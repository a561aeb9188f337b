"""The checks whether fused attention can be used, for which torch_mlu has its own parameter class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Question = Callable[[Any, bool], bool]


def can_use_fused_attention(target: Question, params: Any, debug: bool = False) -> bool:
    """Implement ``torch.backends.cuda.can_use_flash_attention`` and ``can_use_efficient_attention``.

    Args:
        target: The vendor's function.
        params: A ``torch.backends.cuda.SDPAParams``.
        debug: Whether the reasons are logged.

    Returns:
        The vendor's result for its own ``SDPAParams``; False for grouped queries, which that class lacks.
    """
    if params.enable_gqa:
        return False
    backends: Any = torch.backends
    fields = params.query, params.key, params.value, params.attn_mask, params.dropout, params.is_causal
    return bool(target(backends.mlu.SDPAParams(*fields), debug))

"""Whether fused attention can be used, which torch_mlu asks of parameters of its own class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Question = Callable[[Any, bool], bool]


def can_use_fused_attention(target: Question, params: Any, debug: bool = False) -> bool:
    """Answer ``torch.backends.cuda.can_use_flash_attention`` and ``can_use_efficient_attention``.

    Args:
        target: The vendor's.
        params: A ``torch.backends.cuda.SDPAParams``.
        debug: Whether the reasons are logged.

    Returns:
        What the vendor says of its own ``SDPAParams``, which know no groups of queries: False for those.
    """
    if params.enable_gqa:
        return False
    backends: Any = torch.backends
    fields = params.query, params.key, params.value, params.attn_mask, params.dropout, params.is_causal
    return bool(target(backends.mlu.SDPAParams(*fields), debug))

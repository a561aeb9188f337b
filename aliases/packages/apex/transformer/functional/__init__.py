"""Functions of transformers."""
# ruff: noqa: F401 (the imported names are part of the interface)

from .fused_rope import (
    fused_apply_rotary_pos_emb,
    fused_apply_rotary_pos_emb_cached,
    fused_apply_rotary_pos_emb_thd,
)
from .fused_softmax import FusedScaleMaskSoftmax

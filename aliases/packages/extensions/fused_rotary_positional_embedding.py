"""The functions of apex's extension ``fused_rotary_positional_embedding``."""
# ruff: noqa: F401 (the imported names are part of the interface)

from apex.transformer.functional.fused_rope import backward, backward_cached, backward_thd
from apex.transformer.functional.fused_rope import fused_apply_rotary_pos_emb as forward
from apex.transformer.functional.fused_rope import fused_apply_rotary_pos_emb_cached as forward_cached
from apex.transformer.functional.fused_rope import fused_apply_rotary_pos_emb_thd as forward_thd

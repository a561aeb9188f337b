"""flash_attn 3 under the name of its top-level module."""
# ruff: noqa: F401 (the imported names are the interface)

from flash_attn._morph.hopper.interface import (
    USE_TRITON_ROCM,
    FlashAttnFunc,
    FlashAttnQKVPackedFunc,
    FlashAttnVarlenFunc,
    _backward,
    _flash_attn_backward,
    _flash_attn_backward_fake,
    _flash_attn_forward,
    _flash_attn_forward_fake,
    flash_attn_3_gpu,
    flash_attn_combine,
    flash_attn_func,
    flash_attn_qkvpacked_func,
    flash_attn_varlen_func,
    flash_attn_with_kvcache,
    get_scheduler_metadata,
    maybe_contiguous,
    round_multiple,
    round_up_headdim,
    setup_context,
)

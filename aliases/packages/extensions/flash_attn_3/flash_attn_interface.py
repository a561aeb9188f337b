"""flash_attn 3 under its name in its own package."""
# ruff: noqa: F401 (the imported names are the interface)

import flash_attn_interface as _flash_attn_interface
from flash_attn_interface import (
    USE_TRITON_ROCM,
    FlashAttnFunc,
    FlashAttnQKVPackedFunc,
    FlashAttnVarlenFunc,
    _flash_attn_backward,
    _flash_attn_forward,
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

"""The operators that stand for flash-attention: half precision, one head size of at most 256."""

from __future__ import annotations

from torch import Tensor

from ..._morph import groups
from ..._morph.inputs import Inputs
from ..common import register_operator
from .common import AttentionBwOpBase, AttentionFwOpBase

FLASH_VERSION = "2.8.4"


@register_operator
class FwOp(AttentionFwOpBase):
    """The output."""

    NAME = f"fa2F@{FLASH_VERSION}"
    VERSION = FLASH_VERSION
    CUDA_MINIMUM_COMPUTE_CAPABILITY = (8, 0)
    SUPPORTED_MAX_K = 256
    SUPPORTED_ATTN_BIAS_TYPES = (
        *groups.PLAIN,
        *groups.AROUND,
        *groups.PACKED,
        *groups.PACKED_LOCAL,
        *groups.PADDED,
        *groups.PAGED,
    )
    SUPPORTS_PARTIAL = True

    @classmethod
    def not_supported_reasons(cls, d: Inputs) -> list[str]:
        """Return why it cannot compute ``d``: nothing if it can."""
        tensors = {"query": d.query, "key": d.key, "value": d.value}
        apart = [name for name, each in tensors.items() if each.ndim == 5 and not _joins_heads(each)]
        reasons = [
            f"GQA is only supported when the G/H dimensions of {name} are contiguous" for name in apart
        ]
        return [*super().not_supported_reasons(d), *reasons]


@register_operator
class BwOp(AttentionBwOpBase):
    """The gradients."""

    NAME = f"fa2B@{FLASH_VERSION}"
    VERSION = FLASH_VERSION
    CUDA_MINIMUM_COMPUTE_CAPABILITY = (8, 0)
    SUPPORTED_MAX_K = FwOp.SUPPORTED_MAX_K
    SUPPORTED_ATTN_BIAS_TYPES = (*groups.PLAIN, *groups.AROUND, *groups.PACKED, *groups.PACKED_LOCAL)


def _joins_heads(tensor: Tensor) -> bool:
    heads, step = tensor.shape[3], tensor.stride(3)
    return 1 in tensor.shape[2:4] or step == 0 or tensor.stride(2) == step * heads

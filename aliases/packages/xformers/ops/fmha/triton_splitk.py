"""The operator for decoding, without Triton."""

from __future__ import annotations

from torch import Tensor

from ..._morph import groups
from ..._morph.caches import PagedBlockDiagonalPaddedKeysMask
from ..._morph.inputs import Inputs
from ..._morph.packed import PackedBias
from ..._morph.windows import ALL
from ..common import register_operator
from .common import AttentionFwOpBase

_HEAD_SIZES = (16, 32, 64, 128, 256, 512)


@register_operator
class FwOp(AttentionFwOpBase):
    """The output."""

    NAME = "triton_splitKF"
    CUDA_MINIMUM_COMPUTE_CAPABILITY = (8, 0)
    SUPPORTED_MAX_K = 512
    SUPPORTED_ATTN_BIAS_TYPES = (
        type(None),
        Tensor,
        *groups.PADDED,
        *groups.PAGED,
    )
    SUPPORTS_DROPOUT = False
    SUPPORTS_OUTPUT_DTYPE = True
    SUPPORTS_PARTIAL = True
    BLOCK_M = 16
    BLOCK_N = 64

    @classmethod
    def shape_not_supported_reasons(cls, Mq: int, Mkv: int, K: int, Kv: int) -> list[str]:
        """Return why it cannot compute attention of these numbers of queries and keys, and sizes of heads."""
        reasons = super().shape_not_supported_reasons(Mq, Mkv, K, Kv)
        return reasons if K in _HEAD_SIZES else [*reasons, f"Embed dim {K} not supported"]

    @classmethod
    def not_supported_reasons(cls, d: Inputs) -> list[str]:
        """Return why it cannot compute ``d``: nothing if it can."""
        if d.key.dtype != d.query.dtype:
            return ["keys and values of fewer bits are not computed here: dequantize them"]
        reasons, bias = super().not_supported_reasons(d), d.attn_bias
        if not isinstance(bias, PackedBias):
            return reasons
        info, windowed = bias.q_seqinfo, bias.window != ALL
        if windowed and (info.max_seqlen > cls.BLOCK_M or info.max_seqlen != info.min_seqlen):
            reasons.append(
                f"a causal or local bias wants equally many queries, at most {cls.BLOCK_M}, everywhere"
            )
        if isinstance(bias, PagedBlockDiagonalPaddedKeysMask) and (
            d.key.shape[1] % bias.page_size or bias.page_size % cls.BLOCK_N
        ):
            reasons.append(
                f"the number of keys should be a multiple of the page size, and this of {cls.BLOCK_N}"
            )
        return reasons

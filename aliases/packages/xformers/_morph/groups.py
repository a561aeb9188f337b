"""Which biases the original's kernels accept, in groups."""

from __future__ import annotations

from torch import Tensor

from ..ops.fmha import attn_bias as of

PLAIN = (
    type(None),
    of.LowerTriangularMask,
    of.LowerTriangularFromBottomRightMask,
    of.LowerTriangularFromBottomRightLocalAttentionMask,
)
MATRICES = (Tensor, of.LowerTriangularMaskWithTensorBias)
PACKED = (
    of.BlockDiagonalMask,
    of.BlockDiagonalCausalMask,
    of.BlockDiagonalCausalFromBottomRightMask,
    of.BlockDiagonalCausalLocalAttentionMask,
)
PACKED_LOCAL = (of.BlockDiagonalCausalLocalAttentionFromBottomRightMask,)
PADDED = (of.BlockDiagonalPaddedKeysMask, of.BlockDiagonalCausalWithOffsetPaddedKeysMask)
PADDED_LOCAL = (of.BlockDiagonalCausalLocalAttentionPaddedKeysMask,)
PADDED_AROUND = (of.BlockDiagonalLocalAttentionPaddedKeysMask,)
GAPPY = (of.BlockDiagonalGappyKeysMask, of.BlockDiagonalCausalWithOffsetGappyKeysMask)
PAGED = (of.PagedBlockDiagonalPaddedKeysMask, of.PagedBlockDiagonalCausalWithOffsetPaddedKeysMask)
PAGED_GAPPY = (of.PagedBlockDiagonalGappyKeysMask, of.PagedBlockDiagonalCausalWithOffsetGappyKeysMask)
AROUND = (of.LocalAttentionFromBottomRightMask,)

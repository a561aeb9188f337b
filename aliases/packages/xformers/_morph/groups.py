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
PAGED = (of.PagedBlockDiagonalPaddedKeysMask, of.PagedBlockDiagonalCausalWithOffsetPaddedKeysMask)
AROUND = (of.LocalAttentionFromBottomRightMask,)

"""The biases of attention: which keys a query sees, without a matrix."""
# ruff: noqa: F403, F405 (the classes of two files)

from __future__ import annotations

from ..._morph import biases, caches, lengths
from ..._morph.biases import *
from ..._morph.caches import *

VARLEN_BIASES = (
    BlockDiagonalMask,
    BlockDiagonalGappyKeysMask,
    BlockDiagonalPaddedKeysMask,
    PagedBlockDiagonalPaddedKeysMask,
    PagedBlockDiagonalGappyKeysMask,
)

_get_default_bias_device = lengths.default_device
_SeqLenInfo, _PaddedSeqLenInfo = lengths._SeqLenInfo, lengths._PaddedSeqLenInfo
_GappySeqInfo = lengths._GappySeqInfo

for _each in (*biases.__all__, *caches.__all__, "_SeqLenInfo", "_PaddedSeqLenInfo", "_GappySeqInfo"):
    globals()[_each].__module__ = __name__  # where pickles look for them

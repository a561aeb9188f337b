"""The biases of attention: which keys a query sees, without a matrix."""
# ruff: noqa: F403, F405 (the classes of three files)

from __future__ import annotations

from ..._morph import lengths
from ..._morph.biases import *
from ..._morph.caches import *
from ..._morph.packed import *

VARLEN_BIASES = (
    BlockDiagonalMask,
    BlockDiagonalPaddedKeysMask,
    PagedBlockDiagonalPaddedKeysMask,
)

_get_default_bias_device = lengths.default_device
_SeqLenInfo, _PaddedSeqLenInfo = lengths._SeqLenInfo, lengths._PaddedSeqLenInfo

for _each in list(globals().values()):
    if isinstance(_each, type) and _each.__module__.startswith("xformers._morph."):
        _each.__module__ = __name__  # where pickles look for them

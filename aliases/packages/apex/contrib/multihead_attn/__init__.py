"""Attention of many heads, over sequences that come first."""

from .encdec_multihead_attn import EncdecMultiheadAttn as EncdecMultiheadAttn
from .mask_softmax_dropout_func import fast_mask_softmax_dropout_func as fast_mask_softmax_dropout_func
from .self_multihead_attn import SelfMultiheadAttn as SelfMultiheadAttn

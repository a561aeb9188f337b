"""Softmax over keys."""

from .functions import MaskSoftmaxDropout as MaskSoftmaxDropout

fast_mask_softmax_dropout_func = MaskSoftmaxDropout.apply

"""Softmax over keys."""

from ...kernels.attention import masked_softmax


class MaskSoftmaxDropout:
    """The softmax over keys with a mask and dropout, which torch differentiates."""

    apply = staticmethod(masked_softmax)


fast_mask_softmax_dropout_func = MaskSoftmaxDropout.apply

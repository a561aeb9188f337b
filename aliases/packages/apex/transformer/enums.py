"""Kinds of layers, of attention and of models."""

import enum


class LayerType(enum.Enum):
    """What a layer is part of."""

    encoder = 1
    decoder = 2


class AttnType(enum.Enum):
    """What attention attends to."""

    self_attn = 1
    cross_attn = 2


class AttnMaskType(enum.Enum):
    """What attention does not see: padding, or what comes later."""

    padding = 1
    causal = 2


class ModelType(enum.Enum):
    """What a model consists of."""

    encoder_or_decoder = 1
    encoder_and_decoder = 2

"""Kinds of layers, of attention and of models."""

import enum


class LayerType(enum.Enum):
    """The part of the model to which a layer belongs."""

    encoder = 1
    decoder = 2


class AttnType(enum.Enum):
    """The kind of attention."""

    self_attn = 1
    cross_attn = 2


class AttnMaskType(enum.Enum):
    """What the attention mask hides: padding, or later tokens."""

    padding = 1
    causal = 2


class ModelType(enum.Enum):
    """The parts of which a model consists."""

    encoder_or_decoder = 1
    encoder_and_decoder = 2

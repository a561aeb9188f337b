"""Kinds of layers, of attention and of models."""

import enum

LayerType = enum.Enum("LayerType", "encoder decoder")
AttnType = enum.Enum("AttnType", "self_attn cross_attn")
AttnMaskType = enum.Enum("AttnMaskType", "padding causal")
"""What the attention mask hides: padding, or later tokens."""
ModelType = enum.Enum("ModelType", "encoder_or_decoder encoder_and_decoder")

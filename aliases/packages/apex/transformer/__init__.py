"""The fused functions of Megatron's transformers; the rest of apex.transformer moved to Megatron."""

from . import functional
from .enums import AttnMaskType, AttnType, LayerType

__all__ = ["AttnMaskType", "AttnType", "LayerType", "functional"]

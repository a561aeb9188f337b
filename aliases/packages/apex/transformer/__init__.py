"""The fused functions of Megatron's transformers; the rest of apex.transformer moved to Megatron."""
# ruff: noqa: F401 (the imported names are part of the interface)

from . import functional
from .enums import AttnMaskType, AttnType, LayerType

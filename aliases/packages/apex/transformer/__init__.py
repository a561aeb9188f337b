"""The remaining parts of Megatron's transformers: fused functions, process groups, and micro-batches."""

from . import functional, parallel_state, pipeline_parallel, utils
from .enums import AttnMaskType, AttnType, LayerType

__all__ = [
    "AttnMaskType",
    "AttnType",
    "LayerType",
    "functional",
    "parallel_state",
    "pipeline_parallel",
    "utils",
]

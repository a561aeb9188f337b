"""What is left of Megatron's transformers: fused functions, groups of processes, and micro-batches."""

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

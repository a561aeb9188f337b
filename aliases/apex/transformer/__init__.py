"""The parts of Megatron's transformers: parallel layers, fused functions, groups of processes."""

from . import amp, functional, parallel_state, pipeline_parallel, tensor_parallel, utils
from .enums import AttnMaskType, AttnType, LayerType

__all__ = [
    "AttnMaskType",
    "AttnType",
    "LayerType",
    "amp",
    "functional",
    "parallel_state",
    "pipeline_parallel",
    "tensor_parallel",
    "utils",
]

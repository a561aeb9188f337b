"""The tools for training in float16 that predate amp."""
# ruff: noqa: F401 (the imported names are part of the interface)

from .fp16_optimizer import FP16_Optimizer
from .fp16util import (
    BN_convert_float,
    FP16Model,
    clip_grad_norm,
    convert_module,
    convert_network,
    master_params_to_model_params,
    network_to_half,
    to_python_float,
    tofp16,
)

"""The functions of apex's extension ``fused_weight_gradient_mlp_cuda``."""
# ruff: noqa: F401 (the imported names are part of the interface)

from apex.kernels.dense import wgrad_gemm_accum as wgrad_gemm_accum_fp16
from apex.kernels.dense import wgrad_gemm_accum as wgrad_gemm_accum_fp32

"""The functions of apex's extension ``fused_weight_gradient_mlp_cuda``."""

from apex.kernels.dense import wgrad_gemm_accum as wgrad_gemm_accum_fp16
from apex.kernels.dense import wgrad_gemm_accum as wgrad_gemm_accum_fp32

__all__ = ["wgrad_gemm_accum_fp16", "wgrad_gemm_accum_fp32"]

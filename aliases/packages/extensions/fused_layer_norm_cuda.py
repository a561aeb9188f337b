"""The functions of apex's extension ``fused_layer_norm_cuda``."""
# ruff: noqa: F401 (the imported names are part of the interface)

from apex.kernels.norms import (
    backward,
    backward_affine,
    forward,
    forward_affine,
    forward_affine_mixed_dtypes,
    rms_backward,
    rms_backward_affine,
    rms_forward,
    rms_forward_affine,
    rms_forward_affine_mixed_dtypes,
)

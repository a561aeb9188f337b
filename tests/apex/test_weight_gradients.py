"""Weight gradients against float64."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.testing import assert_close

DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def values(seed: int, *shape: int, dtype: torch.dtype = torch.float32, scale: float = 1.0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (scale * torch.randn(shape, generator=generator)).to("cuda", dtype)


def test_gradients_of_weights_are_added() -> None:
    import fused_weight_gradient_mlp_cuda as extension

    for dtype, of_grad, function in (
        (torch.float32, torch.float32, extension.wgrad_gemm_accum_fp32),
        (torch.bfloat16, torch.float32, extension.wgrad_gemm_accum_fp32),
        (torch.float16, torch.float16, extension.wgrad_gemm_accum_fp16),
    ):
        input, grad = values(0, 4, 5, 6, dtype=dtype), values(1, 4, 5, 3, dtype=dtype)
        total = values(2, 3, 6, dtype=of_grad)
        expected = total.cpu().double() + torch.einsum(
            "abo,abi->oi", grad.cpu().double(), input.cpu().double()
        )
        assert function(input, grad, total) is None
        tolerance = 1e-5 if of_grad == torch.float32 else 1e-2
        assert_close(total.cpu().double(), expected, rtol=tolerance, atol=tolerance)

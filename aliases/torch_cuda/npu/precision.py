"""TF32's switches, which on Ascend switch HF32: float32 products with a shortened mantissa."""

from __future__ import annotations

from typing import Any

import torch.backends
import torch.backends.cuda

from morph.backends import vendor_module

_flags: Any = torch.backends  # which has no annotations


class Matmul(_flags.cuda.cuBLASModule):  # type: ignore[misc]
    """``torch.backends.cuda.matmul``, whose TF32 switches also switch HF32; the rest is torch's own."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        follow_torch()


class Convolution(_flags._FP32Precision):  # type: ignore[misc]
    """``torch.backends.cudnn.conv``, whose TF32 switch also switches HF32."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "fp32_precision":
            follow_torch()


def follow_torch() -> None:
    """Switch HF32 as torch's flags for TF32 stand."""
    vendor = vendor_module()
    vendor.matmul.allow_hf32 = torch._C._get_fp32_precision_getter("cuda", "matmul") == "tf32"
    vendor.conv.allow_hf32 = torch._C._get_fp32_precision_getter("cuda", "conv") == "tf32"


def _allow_in_convolutions(value: bool) -> None:
    torch._C._set_cudnn_allow_tf32(value)
    follow_torch()


def _allowed_in_convolutions() -> bool:
    return bool(vendor_module().conv.allow_hf32)


matmul = Matmul()
convolution = Convolution("cuda", "conv")
allow_tf32 = _flags.ContextProp(_allowed_in_convolutions, _allow_in_convolutions)

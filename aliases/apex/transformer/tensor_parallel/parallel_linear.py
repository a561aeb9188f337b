"""What both linear layers share."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import nn

from .attributes import new_weight


class ParallelLinear(nn.Module):
    """A linear layer, a dimension of whose weight is spread over the group."""

    dimension: int
    weight: nn.Parameter
    bias: nn.Parameter | None

    def _make(
        self, sizes: tuple[int, int], bias: bool, options: dict[str, Any], keep_master_weight: bool
    ) -> None:
        on_host, dtype = options["use_cpu_initialization"], options["params_dtype"]
        init_method, stride = options["init_method"], options["stride"]
        output_size, input_size = sizes
        self.weight, whole = new_weight(
            output_size, input_size, self.dimension, init_method, stride, dtype, on_host
        )
        if on_host:
            self.master_weight = whole if keep_master_weight else None
        device = "cpu" if on_host else "cuda"
        rows = self.weight.size(0)
        zeros = nn.Parameter(torch.zeros(rows, dtype=dtype, device=device)) if bias else None
        self.register_parameter("bias", zeros)

    def _warn(self, accumulation_in_fp16: bool | None) -> None:
        if accumulation_in_fp16 is not None:
            message = f"Deprecated option `accumulation_in_fp16` is set to {accumulation_in_fp16}"
            warnings.warn(message, stacklevel=3)

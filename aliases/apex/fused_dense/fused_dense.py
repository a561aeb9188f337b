"""Linear layers, alone or two with a GELU between them, in tanh's approximation."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..kernels import dense


class FusedDenseFunc(torch.autograd.Function):
    """A linear layer: ``apply(input, weight, bias)``."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Return the output."""
        ctx.save_for_backward(input, weight)
        return dense.linear_bias_forward(input, weight, bias)[0]

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, ...]:
        """Return the gradients of input, weight and bias."""
        input, weight = ctx.saved_tensors
        return dense.linear_bias_backward(input, weight, grad_output)


class DenseNoBiasFunc(torch.autograd.Function):
    """A linear layer without bias: ``apply(input, weight)``."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, weight: Tensor) -> Tensor:
        """Return the output."""
        ctx.save_for_backward(input, weight)
        return input @ weight.t()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, ...]:
        """Return the gradients of input and weight."""
        input, weight = ctx.saved_tensors
        return dense.linear_bias_backward(input, weight, grad_output)[:2]


class FusedDenseGeluDenseFunc(torch.autograd.Function):
    """Two linear layers: ``apply(input, weight1, bias1, weight2, bias2)``."""

    @staticmethod
    def forward(
        ctx: Any, input: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor
    ) -> Tensor:
        """Return the output."""
        output1, output2, gelu_in = dense.linear_gelu_linear_forward(input, weight1, bias1, weight2, bias2)
        ctx.save_for_backward(input, gelu_in, output1, weight1, weight2)
        return output2

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, ...]:
        """Return the gradients of the input, and of weight and bias of both layers."""
        input, gelu_in, output1, weight1, weight2 = ctx.saved_tensors
        return dense.linear_gelu_linear_backward(input, gelu_in, output1, weight1, weight2, grad_output)


fused_dense_function = FusedDenseFunc.apply
dense_no_bias_function = DenseNoBiasFunc.apply
fused_dense_gelu_dense_function = FusedDenseGeluDenseFunc.apply


class FusedDense(nn.Module):
    """A linear layer.

    Args:
        in_features: How many features an input has.
        out_features: How many features an output has.
        bias: Whether there is a bias.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.bias: nn.Parameter | None
        model = nn.Linear(in_features, out_features, bias)  # apex leaves the parameters as the memory was
        self.weight = model.weight
        self.register_parameter("bias", model.bias)

    def forward(self, input: Tensor) -> Tensor:
        """Return the output."""
        return F.linear(input, self.weight, self.bias)


class FusedDenseGeluDense(nn.Module):
    """Two linear layers with a GELU between them.

    Args:
        in_features: How many features an input has.
        intermediate_features: How many features the first layer's output has.
        out_features: How many features an output has.
        bias: Must be true.
    """

    def __init__(
        self, in_features: int, intermediate_features: int, out_features: int, bias: bool = True
    ) -> None:
        super().__init__()
        assert bias, "DenseGeluDense module without bias is currently not supported"
        self.in_features = in_features
        self.intermediate_features = intermediate_features
        self.out_features = out_features
        first, second = (
            nn.Linear(in_features, intermediate_features),
            nn.Linear(intermediate_features, out_features),
        )
        self.weight1, self.bias1 = first.weight, first.bias
        self.weight2, self.bias2 = second.weight, second.bias

    def forward(self, input: Tensor) -> Tensor:
        """Return the output."""
        hidden = F.gelu(F.linear(input, self.weight1, self.bias1), approximate="tanh")
        return F.linear(hidden, self.weight2, self.bias2)

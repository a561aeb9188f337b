"""Linear layers, alone or two with a GELU (tanh approximation) between them."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F


def _gelu_between(input: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    return F.linear(F.gelu(F.linear(input, weight1, bias1), approximate="tanh"), weight2, bias2)


class FusedDenseFunc:
    """A linear layer, which torch differentiates: ``apply(input, weight, bias)``."""

    apply = staticmethod(F.linear)


class DenseNoBiasFunc:
    """A linear layer without bias, which torch differentiates: ``apply(input, weight)``."""

    apply = staticmethod(F.linear)


class FusedDenseGeluDenseFunc:
    """Two linear layers, which torch differentiates: ``apply(input, weight1, bias1, weight2, bias2)``."""

    apply = staticmethod(_gelu_between)


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
        model = nn.Linear(in_features, out_features, bias)  # apex leaves the parameters uninitialised
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
        first = nn.Linear(in_features, intermediate_features)
        second = nn.Linear(intermediate_features, out_features)
        self.weight1, self.bias1 = first.weight, first.bias
        self.weight2, self.bias2 = second.weight, second.bias

    def forward(self, input: Tensor) -> Tensor:
        """Return the output."""
        return _gelu_between(input, self.weight1, self.bias1, self.weight2, self.bias2)

"""Perceptrons with an activation after every layer, including the last."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .._autocast_utils import _cast_if_autocast_enabled
from ..kernels import dense

ACTIVATIONS = {"none": 0, "relu": dense.RELU, "sigmoid": dense.SIGMOID}


def mlp_function(bias: int, activation: int, *args: Tensor) -> Tensor:
    """Return the output of a perceptron, with the arguments of ``dense.chain``, the last ones unpacked."""
    return dense.chain(bias, activation, _cast_if_autocast_enabled(*args))


class MlpFunction:
    """A perceptron, which torch differentiates: ``apply(bias, activation, input, *weights, *biases)``."""

    apply = staticmethod(mlp_function)


class MLP(nn.Module):
    """A perceptron.

    Args:
        mlp_sizes: The number of features of the input and of each layer.
        bias: Whether there are biases.
        activation: The activation after every layer: ``"none"``, ``"relu"`` or ``"sigmoid"``.

    Raises:
        TypeError: If there is no such activation.
    """

    def __init__(self, mlp_sizes: Sequence[int], bias: bool = True, activation: str = "relu") -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise TypeError("activation must be relu or none.")
        self.num_layers = len(mlp_sizes) - 1
        self.mlp_sizes = copy.copy(mlp_sizes)
        self.bias = 1 if bias else 0
        self.activation = ACTIVATIONS[activation]
        for number in range(self.num_layers):
            weight = nn.Parameter(torch.empty(mlp_sizes[number + 1], mlp_sizes[number]))
            self.register_parameter(f"weight_{number}", weight)
            if bias:
                self.register_parameter(f"bias_{number}", nn.Parameter(torch.empty(mlp_sizes[number + 1])))
        self.reset_parameters()

    @property
    def weights(self) -> list[nn.Parameter]:
        """The weight of each layer."""
        return [self.get_parameter(f"weight_{number}") for number in range(self.num_layers)]

    @property
    def biases(self) -> list[nn.Parameter]:
        """The bias of each layer; none if there are none."""
        return [self.get_parameter(f"bias_{number}") for number in range(self.num_layers * self.bias)]

    def reset_parameters(self) -> None:
        """Draw weights and biases from normal distributions, narrower for more features."""
        for weight in self.weights:
            nn.init.normal_(weight, 0.0, math.sqrt(2.0 / sum(weight.shape)))
        for bias in self.biases:
            nn.init.normal_(bias, 0.0, math.sqrt(1.0 / len(bias)))

    def forward(self, input: Tensor) -> Tensor:
        """Return the output.

        Args:
            input: Of shape (batch, features).
        """
        return mlp_function(self.bias, self.activation, input, *self.weights, *self.biases)

    def extra_repr(self) -> str:
        """Return sizes and options for ``repr``."""
        return f"MLP sizes: {self.mlp_sizes}, Bias={self.bias}, activation={self.activation}"

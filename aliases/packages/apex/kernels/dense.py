"""Chains of linear layers, and accumulated weight gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

RELU, SIGMOID = 1, 2
ACTIVATIONS: dict[int, Callable[[Tensor], Tensor]] = {RELU: torch.relu, SIGMOID: torch.sigmoid}


def chain(use_bias: int, activation: int, inputs: Sequence[Tensor]) -> Tensor:
    """Return the output of a perceptron with an activation after every layer.

    Args:
        use_bias: Whether there are biases.
        activation: 0 for none, 1 for the rectifier, 2 for the logistic function.
        inputs: The input, the weights and, if there are any, the biases.
    """
    count = (len(inputs) - 1) // (2 if use_bias else 1)
    biases: Sequence[Tensor | None] = inputs[1 + count :] if use_bias else [None] * count
    output = inputs[0]
    for weight, bias in zip(inputs[1 : 1 + count], biases, strict=True):
        output = F.linear(output, weight, bias)
        output = ACTIVATIONS[activation](output) if activation in ACTIVATIONS else output
    return output


def wgrad_gemm_accum(input: Tensor, d_output: Tensor, d_weight: Tensor, /) -> None:
    """Add the gradient of a weight to ``d_weight``, in its dtype.

    Args:
        input: The layer's input, of shape (..., in).
        d_output: The gradient of its output, of shape (..., out).
        d_weight: The gradient so far, of shape (out, in).
    """
    rows, of_rows = (each.flatten(0, -2).to(d_weight.dtype) for each in (input, d_output))
    d_weight.addmm_(of_rows.t(), rows)

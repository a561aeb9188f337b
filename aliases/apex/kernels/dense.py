"""Linear layers, alone and in chains, with their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

RELU, SIGMOID = 1, 2
ACTIVATIONS: dict[int, Callable[[Tensor], Tensor]] = {RELU: torch.relu, SIGMOID: torch.sigmoid}
Gradients = tuple[Tensor, ...]


def linear_bias_forward(input: Tensor, weight: Tensor, bias: Tensor, /) -> list[Tensor]:
    """Return ``input @ weight.T + bias``, in a list."""
    return [F.linear(input, weight, bias)]


def linear_bias_backward(input: Tensor, weight: Tensor, d_output: Tensor, /) -> Gradients:
    """Return the gradients of input, weight and bias."""
    rows, of_rows = input.flatten(0, -2), d_output.flatten(0, -2)
    return d_output @ weight, of_rows.t() @ rows, of_rows.sum(0)


def linear_gelu_linear_forward(
    input: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor, /
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the activated first layer, the second layer, and the first layer before the activation."""
    gelu_in = F.linear(input, weight1, bias1)
    output1 = F.gelu(gelu_in, approximate="tanh")
    return output1, F.linear(output1, weight2, bias2), gelu_in


def linear_gelu_linear_backward(
    input: Tensor,
    gelu_in: Tensor,
    output1: Tensor,
    weight1: Tensor,
    weight2: Tensor,
    d_output2: Tensor,
    /,
) -> Gradients:
    """Return the gradients of the input, of the first weight and bias, and of the second."""
    d_output1, d_weight2, d_bias2 = linear_bias_backward(output1, weight2, d_output2)
    d_gelu = torch.ops.aten.gelu_backward(d_output1, gelu_in, approximate="tanh")
    d_input, d_weight1, d_bias1 = linear_bias_backward(input, weight1, d_gelu)
    return d_input, d_weight1, d_bias1, d_weight2, d_bias2


def chain(use_bias: int, activation: int, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Return the output of each layer of a perceptron, every one of them activated.

    Args:
        use_bias: Whether there are biases.
        activation: 0 for none, 1 for the rectifier, 2 for the logistic function.
        inputs: The input, the weights and, if there are any, the biases.
    """
    count = (len(inputs) - 1) // (2 if use_bias else 1)
    weights = inputs[1 : 1 + count]
    biases: Sequence[Tensor | None] = inputs[1 + count :] if use_bias else [None] * count
    outputs = [inputs[0]]
    for weight, bias in zip(weights, biases, strict=True):
        output = F.linear(outputs[-1], weight, bias)
        outputs.append(ACTIVATIONS[activation](output) if activation in ACTIVATIONS else output)
    return outputs[1:]


def mlp_forward(use_bias: int, activation: int, inputs: Sequence[Tensor], /) -> list[Tensor]:
    """Return the output of a perceptron, and what ``mlp_backward`` needs; arguments as for ``chain``."""
    outputs = chain(use_bias, activation, inputs)
    return [outputs[-1], torch.cat([output.flatten() for output in outputs])]


def mlp_backward(
    use_bias: int,
    activation: int,
    grad_o: Tensor,
    fprop_outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    /,
) -> list[Tensor]:
    """Return the gradients of all inputs.

    Args:
        use_bias: Whether there are biases.
        activation: As for ``mlp_forward``.
        grad_o: The gradient of the output.
        fprop_outputs: What ``mlp_forward`` returned.
        inputs: What it was given.
    """
    count = (len(inputs) - 1) // (2 if use_bias else 1)
    weights = inputs[1 : 1 + count]
    sizes = [inputs[0].size(0) * weight.size(0) for weight in weights]
    outputs = [
        part.view(-1, weight.size(0))
        for part, weight in zip(torch.split(fprop_outputs[1], sizes), weights, strict=True)
    ]
    of_weights: list[Tensor] = []
    of_biases: list[Tensor] = []
    grad = grad_o
    for number in reversed(range(count)):
        grad = _behind(activation, grad, outputs[number])
        before = outputs[number - 1] if number else inputs[0]
        grad, of_weight, of_bias = linear_bias_backward(before, weights[number], grad)
        of_weights.insert(0, of_weight)
        of_biases.insert(0, of_bias)
    return [grad, *of_weights, *(of_biases if use_bias else [])]


def _behind(activation: int, grad: Tensor, output: Tensor) -> Tensor:
    if activation == RELU:
        return torch.where(output > 0, grad, torch.zeros_like(grad))
    return grad * output * (1 - output) if activation == SIGMOID else grad


def wgrad_gemm_accum(input: Tensor, d_output: Tensor, d_weight: Tensor, /) -> None:
    """Add the gradient of a weight to ``d_weight``, in its dtype.

    Args:
        input: The layer's input, of shape (..., in).
        d_output: The gradient of its output, of shape (..., out).
        d_weight: The gradient so far, of shape (out, in).
    """
    rows, of_rows = (each.flatten(0, -2).to(d_weight.dtype) for each in (input, d_output))
    d_weight.addmm_(of_rows.t(), rows)

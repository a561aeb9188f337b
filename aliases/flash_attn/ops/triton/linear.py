"""A linear layer with an activation, and the gradient of the next one's input."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from .k_activations import (
    gelu,
    gelu_approx,
    gelu_approx_grad,
    gelu_grad,
    squared_relu,
    squared_relu_grad,
)

_FORWARD = {"id": lambda x: x, "gelu": gelu, "gelu_approx": gelu_approx, "squared_relu": squared_relu}
_BACKWARD = {"gelu": gelu_grad, "gelu_approx": gelu_approx_grad, "squared_relu": squared_relu_grad}


def triton_linear_act(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    activation: str = "id",
    save_act_input: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Apply a linear layer and an activation.

    Args:
        x: Of shape (..., in features).
        weight: Of shape (out features, in features), in the dtype of ``x``.
        bias: Of shape (out features,), or None.
        activation: ``"id"``, ``"gelu"``, ``"gelu_approx"`` or ``"squared_relu"``; computed in float32.
        save_act_input: Whether the input of the activation is wanted too.

    Returns:
        Of shape (..., out features); with ``save_act_input`` also the input of the activation.
    """
    assert activation in _FORWARD
    names = f"Input and weight must have the same dtype, got {x.dtype} and {weight.dtype}"
    assert x.dtype == weight.dtype, names
    act_input = functional.linear(x, weight, bias)
    out = _FORWARD[activation](act_input.float()).to(x.dtype)
    return (out, act_input) if save_act_input else out


def triton_dgrad_act(
    grad_output: Tensor, weight: Tensor, activation: str = "id", act_input: Tensor | None = None
) -> Tensor:
    """Return the gradient of the input of an activation that a linear layer follows.

    Args:
        grad_output: The gradient of the linear layer's output, of shape (..., out features).
        weight: Of the linear layer, of shape (out features, in features), in the same dtype.
        activation: ``"id"``, ``"gelu"``, ``"gelu_approx"`` or ``"squared_relu"``.
        act_input: The input of the activation, of shape (..., in features); not needed for ``"id"``.
    """
    assert activation in _FORWARD
    names = f"grad_output and weight must have the same dtype, got {grad_output.dtype} and {weight.dtype}"
    assert grad_output.dtype == weight.dtype, names
    grad = grad_output @ weight
    if activation == "id":
        return grad
    assert act_input is not None, f"act_input is required for activation {activation}"
    return (grad.float() * _BACKWARD[activation](act_input.float())).to(grad.dtype)

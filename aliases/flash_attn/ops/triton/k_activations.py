"""Activations and their gradients, as functions of tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum

import torch
from torch import Tensor
from torch.nn import functional


class Activation(str, Enum):  # noqa: UP042 (as in flash_attn: str() of a member differs)
    """The names of activations."""

    SquaredReLU = "squared_relu"
    GeLU = "gelu"
    GeLUApprox = "gelu_approx"
    LeakyReLU = "leaky_relu"
    ReLU = "relu"


def tanh(x: Tensor) -> Tensor:
    """Return the hyperbolic tangent."""
    return torch.tanh(x)


def cosh(x: Tensor) -> Tensor:
    """Return the hyperbolic cosine."""
    return torch.cosh(x)


def relu(x: Tensor) -> Tensor:
    """Return the ReLU."""
    return functional.relu(x)


def relu_grad(x: Tensor) -> Tensor:
    """Return the gradient of :func:`relu`: 1 at 0."""
    return (x >= 0).to(x.dtype)


def squared_relu(x: Tensor) -> Tensor:
    """Return the square of the ReLU."""
    return functional.relu(x).square()


def squared_relu_grad(x: Tensor) -> Tensor:
    """Return the gradient of :func:`squared_relu`."""
    return 2.0 * functional.relu(x)


def leaky_relu(x: Tensor) -> Tensor:
    """Return the ReLU that falls by a hundredth below 0."""
    return functional.leaky_relu(x, 0.01)


def leaky_relu_grad(x: Tensor) -> Tensor:
    """Return the gradient of :func:`leaky_relu`: 1 at 0."""
    return torch.where(x >= 0, 1.0, 0.01).to(x.dtype)


def gelu(x: Tensor) -> Tensor:
    """Return the GELU."""
    return functional.gelu(x)


def gelu_grad(x: Tensor) -> Tensor:
    """Return the gradient of :func:`gelu`."""
    density = torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    return 0.5 * (1 + torch.erf(x * math.sqrt(0.5))) + x * density


def gelu_approx(x: Tensor) -> Tensor:
    """Return the GELU in the tanh approximation."""
    return functional.gelu(x, approximate="tanh")


def gelu_approx_grad(x: Tensor) -> Tensor:
    """Return the gradient of :func:`gelu_approx`."""
    slope = math.sqrt(2 / math.pi)
    inner = torch.tanh(slope * x * (1 + 0.044715 * x * x))
    return 0.5 * x * (1 - inner * inner) * slope * (1 + 3 * 0.044715 * x * x) + 0.5 * (1 + inner)


_FORWARD: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": relu,
    "leaky_relu": leaky_relu,
    "gelu": gelu,
    "gelu_approx": gelu_approx,
    "squared_relu": squared_relu,
}
_BACKWARD: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": relu_grad,
    "leaky_relu": leaky_relu_grad,
    "gelu": gelu_grad,
    "gelu_approx": gelu_approx_grad,
    "squared_relu": squared_relu_grad,
}


def get_triton_activation_kernel(activation: Activation | None) -> Callable[[Tensor], Tensor] | None:
    """Return the function of an activation, or None for None."""
    return _FORWARD[activation] if activation else None


def get_triton_activation_bwd_kernel(activation: Activation | None) -> Callable[[Tensor], Tensor] | None:
    """Return the gradient of an activation, or None for None."""
    return _BACKWARD[activation] if activation else None

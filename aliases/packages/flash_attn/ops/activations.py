"""Activations and their gradients."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def gelu_fwd(x: Tensor) -> Tensor:
    """Return the GELU of ``x``, in the tanh approximation."""
    return functional.gelu(x, approximate="tanh")


def gelu_bwd(g: Tensor, x: Tensor) -> Tensor:
    """Return the gradient of :func:`gelu_fwd` at ``x``, times ``g``."""
    return torch.ops.aten.gelu_backward(g, x, approximate="tanh").to(x.dtype)  # type: ignore[no-any-return]


def bias_gelu(y: Tensor, bias: Tensor) -> Tensor:
    """Return the GELU of ``y + bias``, in the tanh approximation."""
    return gelu_fwd(y + bias).to(y.dtype)


def bias_gelu_back(g: Tensor, y: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of :func:`bias_gelu`, for ``y`` of (rows, columns), ``bias`` of (columns,)."""
    grad = gelu_bwd(g, y + bias)
    return grad.to(y.dtype), grad.sum(dim=0, dtype=bias.dtype)


class GeLUFunction(torch.autograd.Function):
    """GELU of a sum with a bias."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, bias: Tensor) -> Tensor:
        """Return the GELU of ``input + bias``."""
        ctx.save_for_backward(input, bias)
        return bias_gelu(input, bias)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients of both."""
        input, bias = ctx.saved_tensors
        grad = gelu_bwd(grad_output, input + bias)
        return grad.to(input.dtype), grad.sum_to_size(bias.shape).to(bias.dtype)


bias_gelu_impl = GeLUFunction.apply


class FastGeLUFunction(torch.autograd.Function):
    """GELU in the tanh approximation."""

    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        """Return the GELU of ``input``."""
        ctx.save_for_backward(input)
        return gelu_fwd(input)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        """Return the gradient of ``input``."""
        (input,) = ctx.saved_tensors
        return gelu_bwd(grad_output, input)


fast_gelu_impl = FastGeLUFunction.apply


def relu_bwd(g: Tensor, x: Tensor) -> Tensor:
    """Return the gradient of the ReLU at ``x``, times ``g``; it is 1 at 0."""
    return torch.where(x >= 0, g, 0.0).to(x.dtype)


def sqrelu_fwd(x: Tensor) -> Tensor:
    """Return the square of the ReLU of ``x``."""
    return functional.relu(x).square()


def sqrelu_bwd(g: Tensor, x: Tensor) -> Tensor:
    """Return the gradient of :func:`sqrelu_fwd` at ``x``, times ``g``."""
    return (2.0 * g * functional.relu(x)).to(x.dtype)


def swiglu_fwd(x: Tensor, y: Tensor) -> Tensor:
    """Return ``silu(x) * y``, computed in float32."""
    return (functional.silu(x.float()) * y).to(x.dtype)


def swiglu_bwd(x: Tensor, y: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of :func:`swiglu_fwd`, times ``g``."""
    wide, grad = x.float(), g.float()
    sigmoid = torch.sigmoid(wide)
    slope = sigmoid * (1 + wide * (1 - sigmoid))
    return (slope * grad * y).to(x.dtype), (wide * sigmoid * grad).to(y.dtype)


class SwiGLUFunction(torch.autograd.Function):
    """SwiGLU of two inputs."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        """Return ``silu(x) * y``."""
        ctx.save_for_backward(x, y)
        return swiglu_fwd(x, y)

    @staticmethod
    def backward(ctx: Any, dout: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients of both."""
        x, y = ctx.saved_tensors
        return swiglu_bwd(x, y, dout)


swiglu = SwiGLUFunction.apply

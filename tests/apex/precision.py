"""Checks that a result's error against float64 is at most twice plain PyTorch's in the same precision."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

Function = Callable[..., Tensor]
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
# the error of rounding the result itself, relative to its values
ROUNDING = {torch.float32: 4e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}


def values(
    seed: int, *shape: int, dtype: torch.dtype = torch.float32, scale: float = 1.0, mean: float = 0.0
) -> Tensor:
    """Returns random numbers on the device, the same on every platform."""
    generator = torch.Generator().manual_seed(seed)
    return (scale * torch.randn(shape, generator=generator) + mean).to("cuda", dtype)


def doubles(values: Sequence[Tensor]) -> list[Tensor]:
    """Returns the values in float64 on the host."""
    return [value.detach().cpu().double() for value in values]


def with_gradients(function: Function, inputs: Sequence[Tensor], grad: Tensor) -> list[Tensor]:
    """Returns the function's result, and the gradients of its floating-point inputs."""
    leaves = [
        value.detach().clone().requires_grad_() if value.is_floating_point() else value for value in inputs
    ]
    output = function(*leaves)
    output.backward(grad.to(output.device, output.dtype))
    return [output.detach(), *(leaf.grad for leaf in leaves if leaf.grad is not None)]


def check(function: Function, reference: Function, inputs: Sequence[Tensor]) -> None:
    """Checks the forward and backward passes of a function against a reference.

    Args:
        function: The function, called with the inputs as they are.
        reference: Computes the same on the CPU: in float64 for the exact result, and in the inputs' own
            dtypes for the error, twice of which is allowed.
        inputs: Tensors on the device.
    """
    on_host = [value.cpu() for value in inputs]
    full = [value.double() if value.is_floating_point() else value for value in on_host]
    shape = reference(*full).shape
    grad = torch.randn(shape, generator=torch.Generator().manual_seed(7))
    ours = with_gradients(function, inputs, grad)
    rounded_grad = grad.to(ours[0].dtype)
    truth = with_gradients(reference, full, rounded_grad.double())
    plain = with_gradients(reference, on_host, rounded_grad)
    assert len(ours) == len(truth)
    for mine, true, theirs in zip(ours, truth, plain, strict=True):
        allowed = 2 * spread(theirs - true) + ROUNDING[mine.dtype] * spread(true).clamp(min=1)
        error = spread(mine.cpu() - true)
        assert error <= allowed, f"off by {error:.3g}, where {allowed:.3g} is allowed"


def spread(values: Tensor) -> Tensor:
    """Returns the root mean square; the maximum of a few rounding errors is mostly chance."""
    return values.double().square().mean().sqrt()

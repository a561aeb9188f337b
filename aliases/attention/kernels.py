"""The kernel that computes a call: the device's own if it does exactly this, else plain PyTorch."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from morph import backends

from . import blockwise, cpu, npu, torchs
from .options import Attention, Gradients, Saved

forward_packed, backward_packed, takes_packed = npu.forward_packed, npu.backward_packed, npu.takes_packed

_KERNELS: dict[str, Any] = {"cpu": cpu, "npu": npu}  # by backend


def as_one_kernel(operator: Any) -> None:
    """Have a graph of the software device hold an operator as the kernel that it is in the original.

    Args:
        operator: A custom operator with a fake implementation; in Python, it may read the device's values.
    """
    operator._opoverload.is_kernel = True


def direct(query: Tensor, key: Tensor, value: Tensor, scale: float, causal: bool) -> Tensor | None:
    """Compute attention with a device kernel that autograd can differentiate, if there is one for this call.

    Args:
        query: Of shape (batch, queries, heads, head size).
        key: Of shape (batch, keys, key heads, head size); the key heads divide the heads.
        value: Of the shape of ``key``.
        scale: The factor of the query-key products.
        causal: Whether a query sees no later key; only with as many keys as queries.

    Returns:
        The output, of the shape of ``query``; or None.
    """
    kernel = _kernels(query.device.type) or torchs
    out: Tensor | None = kernel.direct(query, key, value, scale, causal)
    return out


def forward(attention: Attention, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Compute attention for a batch, as :func:`.computation.forward` does.

    The tensors are of shape (batch, tokens, heads, size); the key heads divide the heads.
    """
    out, lse = _kernel(attention, query, value).forward(attention, query, key, value)
    return out, lse


def backward(
    attention: Attention, saved: Saved, lse_grad: Tensor | None = None, matrix_grad: Tensor | None = None
) -> Gradients:
    """Compute the gradients of :func:`forward`, as :func:`.computation.backward` does."""
    if lse_grad is not None or matrix_grad is not None:
        return blockwise.backward(attention, saved, lse_grad, matrix_grad)
    grads: Gradients = _kernel(attention, saved.query, saved.value).backward(attention, saved)
    return grads


def packs(attention: Attention, query: Tensor, value: Tensor) -> bool:
    """Return whether the device's kernel computes this for several sequences in one tensor, with one call."""
    return _kernel(attention, query, value) is npu


def full_precision(query: Tensor) -> AbstractContextManager[None]:
    """Return a context in which autocast does not change the arithmetic."""
    device_type = query.device.type
    if not torch.is_autocast_enabled(device_type):
        return nullcontext()
    return torch.autocast(device_type, enabled=False)


def _kernel(attention: Attention, query: Tensor, value: Tensor) -> Any:
    own = _kernels(query.device.type)
    return own if own is not None and own.takes(attention, query, value) else blockwise


def _kernels(device_type: str) -> Any:
    """Return the kernels of a device type, or None; the CPU's if CUDA's device is the CPU."""
    backend = backends.active()
    if backend is not None and backend.device_type == device_type:
        device_type = backend.name
    return _KERNELS.get(device_type)

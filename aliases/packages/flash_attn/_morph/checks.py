"""flash_attn's argument checks, with the same messages."""

from __future__ import annotations

from torch import Tensor, float16, int32
from torch import bfloat16 as bf16

from morph.backends import active

DTYPES = (float16, bf16)


def require(condition: bool, message: str) -> None:
    """Raise an error unless the condition holds.

    Raises:
        RuntimeError: With the message, unless the condition holds.
    """
    if not condition:
        raise RuntimeError(message)


def on_device(tensor: Tensor) -> bool:
    """Return whether a tensor is on the device that replaces CUDA."""
    backend = active()
    return backend is None or tensor.device.type == backend.device_type


def require_device(**tensors: Tensor | None) -> None:
    """Reject tensors that are not on the device that replaces CUDA."""
    for name, tensor in tensors.items():
        require(tensor is None or on_device(tensor), f"{name} must be on CUDA")


def require_shape(name: str, tensor: Tensor, **sizes: int) -> None:
    """Reject a tensor whose shape is not ``sizes``, which are named as in the message."""
    require(tuple(tensor.shape) == tuple(sizes.values()), f"{name} must have shape ({', '.join(sizes)})")


def require_indices(name: str, tensor: Tensor | None, **sizes: int) -> None:
    """Reject lengths, offsets and the like that are not contiguous int32 of this shape."""
    if tensor is not None:
        require(tensor.dtype == int32, f"{name} must have dtype int32")
        require(tensor.is_contiguous(), f"{name} must be contiguous")
        require_shape(name, tensor, **sizes)


def require_inputs(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Reject queries, keys and values whose dtype, device or strides flash_attn does not accept."""
    require(q.dtype in DTYPES, "FlashAttention only support fp16 and bf16 data type")
    require(k.dtype == q.dtype, "query and key must have the same dtype")
    require(v.dtype == q.dtype, "query and value must have the same dtype")
    require_device(q=q, k=k, v=v)
    for each in (q, k, v):
        require(each.stride(-1) == 1, "Input tensor must have contiguous last dimension")


def require_heads(batch_size: int, q: Tensor, k: Tensor, direction: str = "forward") -> None:
    """Reject an empty batch, and sizes and numbers of heads that flash_attn does not accept."""
    require(batch_size > 0, "batch size must be positive")
    too_large = f"FlashAttention {direction} only supports head dimension at most 256"
    require(q.shape[-1] <= 256, too_large)
    divides = k.shape[-2] > 0 and q.shape[-2] % k.shape[-2] == 0
    require(divides, "Number of heads in key/value must divide number of heads in query")


def require_output(out: Tensor | None, q: Tensor) -> None:
    """Reject an output tensor that does not match."""
    if out is not None:
        require(out.dtype == q.dtype, "Output must have the same dtype as inputs")
        require_device(out=out)
        require(out.stride(-1) == 1, "Output tensor must have contiguous last dimension")
        require(out.shape == q.shape, "out must have the shape of q")


def require_gradients(targets: tuple[Tensor | None, ...], inputs: tuple[Tensor, ...]) -> None:
    """Reject tensors for the gradients of queries, keys and values that do not match."""
    for name, gradient, of in zip(("dq", "dk", "dv"), targets, inputs, strict=True):
        if gradient is not None:
            require(gradient.dtype == of.dtype, f"{name} must have the same dtype as q")
            require_device(**{name: gradient})
            require(gradient.stride(-1) == 1, f"{name} must have contiguous last dimension")
            require(gradient.shape == of.shape, f"{name} must have the shape of {name[1:]}")


def require_upstream(q: Tensor, out: Tensor, dout: Tensor, softmax_lse: Tensor) -> None:
    """Reject an output and its gradient whose dtype, device or strides flash_attn does not accept."""
    for name, tensor in {"out": out, "dout": dout}.items():
        require(tensor.dtype == q.dtype, f"query and {name} must have the same dtype")
        require(tensor.stride(-1) == 1, f"{name} tensor must have contiguous last dimension")
    require_device(q=q, out=out, dout=dout, softmax_lse=softmax_lse)

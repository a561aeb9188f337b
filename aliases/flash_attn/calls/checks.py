"""What flash_attn refuses, in the same words."""

from __future__ import annotations

from torch import Tensor, float16, float32, int32
from torch import bfloat16 as bf16

from morph.backends import active

DTYPES = (float16, bf16)


def require(condition: bool, message: str) -> None:
    """Refuse a call.

    Raises:
        RuntimeError: With the message, unless the condition holds.
    """
    if not condition:
        raise RuntimeError(message)


def on_device(tensor: Tensor) -> bool:
    """Tell whether a tensor is on the device that stands for CUDA."""
    backend = active()
    return backend is None or tensor.device.type == backend.device_type


def require_device(**tensors: Tensor | None) -> None:
    """Refuse tensors that are not on the device that stands for CUDA."""
    for name, tensor in tensors.items():
        require(tensor is None or on_device(tensor), f"{name} must be on CUDA")


def require_shape(name: str, tensor: Tensor, **sizes: int) -> None:
    """Refuse a tensor of another shape than ``sizes``, which are called as the message calls them."""
    require(tuple(tensor.shape) == tuple(sizes.values()), f"{name} must have shape ({', '.join(sizes)})")


def require_indices(name: str, tensor: Tensor | None, **sizes: int) -> None:
    """Refuse lengths, offsets and the like that are not contiguous int32 of this shape."""
    if tensor is not None:
        require(tensor.dtype == int32, f"{name} must have dtype int32")
        require(tensor.is_contiguous(), f"{name} must be contiguous")
        require_shape(name, tensor, **sizes)


def require_inputs(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Refuse queries, keys and values whose dtype, device or strides flash_attn does not take."""
    require(q.dtype in DTYPES, "FlashAttention only support fp16 and bf16 data type")
    require(k.dtype == q.dtype, "query and key must have the same dtype")
    require(v.dtype == q.dtype, "query and value must have the same dtype")
    require_device(q=q, k=k, v=v)
    for each in (q, k, v):
        require(each.stride(-1) == 1, "Input tensor must have contiguous last dimension")


def require_heads(
    batch_size: int, num_heads: int, num_heads_k: int, head_size: int, direction: str = "forward"
) -> None:
    """Refuse an empty batch, and sizes and numbers of heads that flash_attn does not take."""
    require(batch_size > 0, "batch size must be positive")
    require(head_size <= 256, f"FlashAttention {direction} only supports head dimension at most 256")
    require(
        num_heads_k > 0 and num_heads % num_heads_k == 0,
        "Number of heads in key/value must divide number of heads in query",
    )


def require_multiple_of_8(head_size: int) -> None:
    """Refuse head sizes that the caller should have padded."""
    require(head_size % 8 == 0, "query, key, value, and out_ must have a head_size that is a multiple of 8")


def require_output(out: Tensor | None, q: Tensor, shape: tuple[int, ...]) -> None:
    """Refuse a tensor for the output that does not fit."""
    if out is not None:
        require(out.dtype == q.dtype, "Output must have the same dtype as inputs")
        require_device(out=out)
        require(out.stride(-1) == 1, "Output tensor must have contiguous last dimension")
        require(tuple(out.shape) == shape, "out must have the shape of q")


def require_gradients(like: dict[str, tuple[Tensor | None, Tensor]]) -> None:
    """Refuse tensors for gradients that do not fit what they are gradients of."""
    for name, (gradient, of) in like.items():
        if gradient is not None:
            require(gradient.dtype == of.dtype, f"{name} must have the same dtype as q")
            require_device(**{name: gradient})
            require(gradient.stride(-1) == 1, f"{name} must have contiguous last dimension")
            require(gradient.shape == of.shape, f"{name} must have the shape of {name[1:]}")


def require_options(
    p_dropout: float, softcap: float, slopes: Tensor | None, batch_size: int, num_heads: int
) -> None:
    """Refuse options that cannot be combined, and ALiBi slopes of another shape or dtype."""
    require(p_dropout < 1.0, "Expected p_dropout < 1.f to be true, but got false.")
    require(softcap <= 0 or p_dropout == 0, "Softcapping does not support dropout for now")
    if slopes is not None:
        require(slopes.dtype == float32, "ALiBi slopes must have dtype fp32")
        require_device(alibi_slopes=slopes)
        require(slopes.stride(-1) == 1, "ALiBi slopes tensor must have contiguous last dimension")
        shapes = (num_heads,), (batch_size, num_heads)
        require(
            tuple(slopes.shape) in shapes,
            "Expected alibi_slopes.sizes() to be ({num_heads}) or ({batch_size, num_heads}), but got "
            f"{tuple(slopes.shape)}.",
        )

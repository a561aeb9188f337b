"""The rotation of one tensor, or of the queries and keys in one, as a differentiable function."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..ops.triton.rotary import apply_rotary


class Rotation(torch.autograd.Function):
    """A rotation, whose gradient is rotated back, in place where the tensor is; see :func:`rotated`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *arguments: Any) -> Tensor:
        """Rotate."""
        ctx.save_for_backward(*(each if isinstance(each, Tensor) else None for each in arguments))
        ctx.others = [None if isinstance(each, Tensor) else each for each in arguments]
        return rotated(x, *arguments)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Rotate the gradient back; a copy of one whose elements share memory, as those of a sum's do."""
        pairs = zip(ctx.saved_tensors, ctx.others, strict=True)
        arguments = [other if tensor is None else tensor for tensor, other in pairs]
        own = grad.contiguous() if 0 in grad.stride() else grad
        return rotated(own, *arguments, conjugate=True), *(None,) * len(arguments)


def rotated(
    x: Tensor,
    what: str,
    cos: Tensor,
    sin: Tensor,
    cos_k: Tensor | None,
    sin_k: Tensor | None,
    offsets: int | Tensor,
    interleaved: bool,
    inplace: bool,
    num_heads_q: int | None = None,
    cu_seqlens: Tensor | None = None,
    max_seqlen: int | None = None,
    *,
    conjugate: bool = False,
) -> Tensor:
    """Rotate ``"x"`` itself, the keys in a ``"kv"``, or queries and keys in a ``"qkv"``, these in place."""
    options = {"interleaved": interleaved, "inplace": inplace, "conjugate": conjugate}
    if what == "x":
        return apply_rotary(x, cos, sin, offsets, cu_seqlens, max_seqlen, **options)  # type: ignore[no-any-return]
    of_keys = cos if cos_k is None else cos_k, sin if sin_k is None else sin_k
    for view, table in zip(_views(x, what, num_heads_q), ((cos, sin), of_keys), strict=False):
        apply_rotary(view, *table, offsets, **options)
    return x


def _views(x: Tensor, what: str, num_heads_q: int | None) -> tuple[Tensor, ...]:
    if what == "kv":
        assert x.shape[2] == 2
        return (x[:, :, 0],)
    if x.dim() == 5:
        assert x.shape[2] == 3
        return x[:, :, 0], x[:, :, 1]
    assert x.dim() == 4
    assert num_heads_q is not None
    num_heads_k = (x.shape[2] - num_heads_q) // 2
    assert x.shape[2] == num_heads_q + 2 * num_heads_k
    return x[:, :, :num_heads_q], x[:, :, num_heads_q : num_heads_q + num_heads_k]

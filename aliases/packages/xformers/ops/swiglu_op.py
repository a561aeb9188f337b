"""The SwiGLU perceptron, computed by torch."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional


def _eager(
    x: Tensor, w1: Tensor, b1: Tensor | None, w2: Tensor, b2: Tensor | None, w3: Tensor, b3: Tensor | None
) -> Tensor:
    hidden = functional.silu(functional.linear(x, w1, b1)) * functional.linear(x, w2, b2)
    return functional.linear(hidden, w3, b3)


SwiGLUEagerOp = _eager


def swiglu(
    x: Tensor,
    w1: Tensor,
    b1: Tensor | None,
    w2: Tensor,
    b2: Tensor | None,
    w3: Tensor,
    b3: Tensor | None,
    *,
    op: Callable[..., Tensor] | None = None,
) -> Tensor:
    """Return ``(silu(x @ w1.T + b1) * (x @ w2.T + b2)) @ w3.T + b3``.

    Raises:
        ValueError: If the shapes do not fit.
    """
    if w1.shape != w2.shape or w1.ndim != 2:
        raise ValueError(f"Invalid shapes for w1: {tuple(w1.shape)} / w2: {tuple(w2.shape)}")
    if w3.ndim != 2 or w3.shape[1] != w2.shape[0]:
        raise ValueError(f"Invalid shape for w3: {tuple(w3.shape)}")
    for name, bias, weight in (("b1", b1, w1), ("b2", b2, w2), ("b3", b3, w3)):
        if bias is not None and tuple(bias.shape) != (weight.shape[0],):
            raise ValueError(f"Invalid shapes for {name}: {tuple(bias.shape)}")
    return (op or SwiGLUEagerOp)(x, w1, b1, w2, b2, w3, b3)


class SwiGLU(nn.Module):
    """A SwiGLU perceptron: :func:`swiglu` with its weights.

    Args:
        in_features: The size of the input.
        hidden_features: The size between the layers.
        out_features: The size of the output; None for that of the input.
        bias: Whether the layers have biases.
        _pack_weights: Whether the first two layers are one, ``w12``.
    """

    def __init__(
        self,
        in_features: int,
        hidden_features: int,
        out_features: int | None = None,
        bias: bool = True,
        *,
        _pack_weights: bool = True,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.hidden_features = hidden_features = hidden_features or in_features
        self.out_features = out_features = out_features or in_features
        self.w12 = nn.Linear(in_features, 2 * hidden_features, bias=bias) if _pack_weights else None
        if not _pack_weights:
            self.w1 = nn.Linear(in_features, hidden_features, bias=bias)
            self.w2 = nn.Linear(in_features, hidden_features, bias=bias)
        self.w3 = nn.Linear(hidden_features, out_features, bias=bias)
        self.op: Callable[..., Tensor] | None = None

    def forward(self, x: Tensor) -> Tensor:
        """Return the output for ``x``, of shape (..., in_features)."""
        return swiglu(x, *self._ordered_params(), op=self.op)

    def _ordered_params(
        self,
    ) -> tuple[Tensor, Tensor | None, Tensor, Tensor | None, Tensor, Tensor | None]:
        last = self.w3.weight, self.w3.bias
        if self.w12 is None:
            return self.w1.weight, self.w1.bias, self.w2.weight, self.w2.bias, *last
        w1, w2 = self.w12.weight.view(2, self.hidden_features, -1)
        if self.w12.bias is None:
            return w1, None, w2, None, *last
        b1, b2 = self.w12.bias.view(2, -1)
        return w1, b1, w2, b2, *last

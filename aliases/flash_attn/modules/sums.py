"""Dropout, sum and norm, between the layers of a block."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from ..ops.triton.layer_norm import RMSNorm, layer_norm_fn


class StochasticDepth(nn.Module):
    """Leaving out whole rows of a batch, in training (https://arxiv.org/abs/1603.09382).

    Args:
        p: The probability that a row is left out.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Leave out rows of ``x``, and scale the others up."""
        if self.p == 0 or not self.training:
            return x
        kept = x.new_empty(x.shape[0], *[1] * (x.dim() - 1)).bernoulli_(1 - self.p)
        return x * kept if self.p == 1 else x * kept / (1 - self.p)


def fused(
    block: Any, norm: Any, dropout: Any, x: Tensor, residual: Tensor | None, **more: Any
) -> tuple[Tensor, ...]:
    """Return the norm of ``x``, dropped from, plus the residual, and that sum: in one function."""
    return layer_norm_fn(  # type: ignore[no-any-return]
        x,
        norm.weight,
        norm.bias,
        residual=residual,
        eps=norm.eps,
        dropout_p=dropout.p if block.training else 0.0,
        prenorm=True,
        residual_in_fp32=block.residual_in_fp32,
        is_rms_norm=isinstance(norm, RMSNorm),
        **more,
    )


def require_fusible(block: Any) -> None:
    """Refuse norms and dropouts that :func:`fused` does not know."""
    if block.fused_dropout_add_ln:
        assert isinstance(block.norm1, (nn.LayerNorm, RMSNorm))
        assert isinstance(block.dropout1, nn.Dropout)


def mark(block: Any, sequence_parallel: bool, shared: bool) -> None:
    """Mark the parameters of the norms."""
    norms = [getattr(block, name) for name in ("norm1", "norm2") if hasattr(block, name)]
    for parameter in (each for norm in norms for each in norm.parameters()):
        if sequence_parallel:
            parameter._sequence_parallel = True
        if shared:
            parameter._shared_params = True

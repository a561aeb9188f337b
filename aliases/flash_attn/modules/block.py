"""Blocks of a transformer: attention and a perceptron, after each other or beside each other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ..ops.triton.layer_norm import RMSNorm, layer_norm_fn
from .mha import MHA
from .mlp import Mlp
from .sums import StochasticDepth, fused, mark, require_fusible

__all__ = ["MHA", "Block", "Mlp", "ParallelBlock", "RMSNorm", "layer_norm_fn"]

Make = Callable[..., Any]


class Block(nn.Module):
    """Attention and a perceptron, one after the other.

    With ``prenorm``: dropout, sum, norm, attention; dropout, sum, norm, perceptron; the input is what the
    block before has returned, and the sum goes on to the next one as the residual. Without: attention,
    dropout, sum, norm; perceptron, dropout, sum, norm.

    Args:
        dim: The size of a token.
        mixer_cls: Makes the attention, called with ``dim``; None for heads of 64 elements.
        mlp_cls: Makes the perceptron, called with ``dim``; None for four times as many hidden features.
        norm_cls: Makes a norm, called with ``dim``.
        dropout_cls: Makes a dropout, called with its probability.
        prenorm: See above.
        resid_dropout1: The first dropout's probability.
        resid_dropout2: The second dropout's probability.
        drop_path1: The probability that the first sum leaves a row out.
        drop_path2: The probability that the second sum leaves a row out.
        fused_dropout_add_ln: Whether dropout, sum and norm are one function, in float32.
        return_residual: Whether attention and perceptron return their input too.
        residual_in_fp32: Whether the residual is float32; only with ``prenorm``.
        sequence_parallel: Whether the norms' parameters are marked for :mod:`flash_attn.utils.distributed`.
        mark_shared_params: Likewise.
    """

    def __init__(
        self,
        dim: int,
        mixer_cls: Make | None = None,
        mlp_cls: Make | None = None,
        norm_cls: Make = nn.LayerNorm,
        dropout_cls: Make = nn.Dropout,
        prenorm: bool = True,
        resid_dropout1: float = 0.0,
        resid_dropout2: float = 0.0,
        drop_path1: float = 0.0,
        drop_path2: float = 0.0,
        fused_dropout_add_ln: bool = False,
        return_residual: bool = False,
        residual_in_fp32: bool = False,
        sequence_parallel: bool = False,
        mark_shared_params: bool = False,
    ) -> None:
        super().__init__()
        self.prenorm, self.return_residual = prenorm, return_residual
        self.fused_dropout_add_ln, self.residual_in_fp32 = fused_dropout_add_ln, residual_in_fp32
        assert prenorm or not residual_in_fp32, "residual_in_fp32 is only compatible with prenorm=True"
        self.mixer = (mixer_cls or partial(MHA, num_heads=dim // 64))(dim)
        self.dropout1, self.drop_path1 = dropout_cls(resid_dropout1), StochasticDepth(drop_path1)
        self.norm1 = norm_cls(dim)
        self.mlp = (mlp_cls or partial(Mlp, hidden_features=4 * dim))(dim)
        if not isinstance(self.mlp, nn.Identity):
            self.dropout2, self.drop_path2 = dropout_cls(resid_dropout2), StochasticDepth(drop_path2)
            self.norm2 = norm_cls(dim)
        require_fusible(self)
        mark(self, sequence_parallel, mark_shared_params)

    def allocate_inference_cache(
        self, batch_size: int, max_seqlen: int, dtype: torch.dtype | None = None, **kwargs: Any
    ) -> Any:
        """Return an empty cache of the attention."""
        return self.mixer.allocate_inference_cache(batch_size, max_seqlen, dtype=dtype, **kwargs)

    def forward(
        self,
        hidden_states: Tensor,
        residual: Tensor | None = None,
        mixer_subset: Any = None,
        mixer_kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Apply the block.

        Args:
            hidden_states: Of shape (batch, tokens, dim).
            residual: What the block before has returned beside its result, with ``prenorm``.
            mixer_subset: Which tokens' results are wanted; of cross attention only.
            mixer_kwargs: For the attention.

        Returns:
            The result; with ``prenorm`` also the residual.
        """
        options = dict(mixer_kwargs or {})
        if not self.prenorm:
            assert residual is None
            return self._after(hidden_states, options)
        hidden_states, residual = self._added(1, hidden_states, residual)
        if mixer_subset is not None:
            options["mixer_subset"] = mixer_subset
        hidden_states = self.mixer(hidden_states, **options)
        if mixer_subset is not None:
            residual = residual[:, mixer_subset]
        if not isinstance(self.mlp, nn.Identity):
            hidden_states, residual = self._added(2, hidden_states, residual)
            hidden_states = self.mlp(hidden_states)
        return hidden_states, residual

    def _after(self, hidden_states: Tensor, options: dict[str, Any]) -> Tensor:
        """Apply attention and perceptron, each followed by a norm."""
        for place, layer, keywords in ((1, self.mixer, options), (2, self.mlp, {})):
            if isinstance(layer, nn.Identity) and place == 2:
                break
            out = layer(hidden_states, **keywords)
            if self.return_residual:
                out, hidden_states = out
            hidden_states = self._added(place, out, hidden_states)[0]
        return hidden_states

    def _added(self, place: int, x: Tensor, residual: Tensor | None) -> tuple[Tensor, Tensor]:
        """Drop from ``x``, add it to the residual, and return the sum's norm and the sum."""
        dropout, path, norm = (getattr(self, f"{name}{place}") for name in ("dropout", "drop_path", "norm"))
        if self.fused_dropout_add_ln:
            scale = path(x.new_ones(x.shape[:-1])) if path.p > 0 and self.training else None
            return fused(self, norm, dropout, x, residual, rowscale=scale)  # type: ignore[return-value]
        total = path(dropout(x))
        total = total if residual is None else total + residual
        normalized = norm(total.to(norm.weight.dtype))
        return normalized, total.float() if self.residual_in_fp32 else total


class ParallelBlock(nn.Module):
    """Attention and a perceptron beside each other, as in GPT-J and PaLM; see :class:`Block` for the
    arguments.

    Args:
        dim: The size of a token.
        mixer_cls: Makes the attention.
        mlp_cls: Makes the perceptron.
        norm_cls: Makes a norm.
        dropout_cls: Makes a dropout.
        resid_dropout1: The probability that an element of the attention's result is dropped.
        resid_dropout2: The probability that an element of the perceptron's result is dropped.
        tied_norm: Whether attention and perceptron share their norm.
        fused_dropout_add_ln: Whether dropout, sum and norm are one function, in float32.
        residual_in_fp32: Whether the residual is float32.
        sequence_parallel: Whether the norms' parameters are marked.
        mark_shared_params: Likewise.
    """

    def __init__(
        self,
        dim: int,
        mixer_cls: Make | None = None,
        mlp_cls: Make | None = None,
        norm_cls: Make = nn.LayerNorm,
        dropout_cls: Make = nn.Dropout,
        resid_dropout1: float = 0.0,
        resid_dropout2: float = 0.0,
        tied_norm: bool = False,
        fused_dropout_add_ln: bool = False,
        residual_in_fp32: bool = False,
        sequence_parallel: bool = False,
        mark_shared_params: bool = False,
    ) -> None:
        super().__init__()
        self.tied_norm = tied_norm
        self.fused_dropout_add_ln, self.residual_in_fp32 = fused_dropout_add_ln, residual_in_fp32
        self.mixer = (mixer_cls or partial(MHA, num_heads=dim // 64))(dim)
        self.dropout1, self.norm1 = dropout_cls(resid_dropout1), norm_cls(dim)
        self.mlp = (mlp_cls or partial(Mlp, hidden_features=4 * dim))(dim)
        self.dropout2 = dropout_cls(resid_dropout2)
        if not tied_norm:
            self.norm2 = norm_cls(dim)
        require_fusible(self)
        mark(self, sequence_parallel, mark_shared_params)

    def allocate_inference_cache(
        self, batch_size: int, max_seqlen: int, dtype: torch.dtype | None = None, **kwargs: Any
    ) -> Any:
        """Return an empty cache of the attention."""
        return self.mixer.allocate_inference_cache(batch_size, max_seqlen, dtype=dtype, **kwargs)

    def forward(
        self,
        hidden_states1: Tensor,
        hidden_states2: Tensor | None = None,
        residual: Tensor | None = None,
        mixer_kwargs: dict[str, Any] | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Apply the block.

        Args:
            hidden_states1: The result of the attention before, of shape (batch, tokens, dim).
            hidden_states2: The result of the perceptron before.
            residual: What the block before has returned last.
            mixer_kwargs: For the attention.

        Returns:
            The results of attention and perceptron, and the residual.
        """
        add = self._fused if self.fused_dropout_add_ln else self._added
        normalized1, normalized2, total = add(hidden_states1, hidden_states2, residual)
        return self.mixer(normalized1, **(mixer_kwargs or {})), self.mlp(normalized2), total

    def _added(self, x1: Tensor, x2: Tensor | None, residual: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        total = self.dropout1(x1)
        total = total if residual is None else residual + total
        total = total if x2 is None else total + self.dropout2(x2)
        normalized1 = self.norm1(total.to(self.norm1.weight.dtype))
        normalized2 = normalized1 if self.tied_norm else self.norm2(total.to(self.norm2.weight.dtype))
        return normalized1, normalized2, total.float() if self.residual_in_fp32 else total

    def _fused(self, x1: Tensor, x2: Tensor | None, residual: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        second = {} if self.tied_norm else {"weight1": self.norm2.weight, "bias1": self.norm2.bias}
        results = fused(self, self.norm1, self.dropout1, x1, residual, x1=x2, **second)
        return results[0], results[-2], results[-1]  # the first is also the last but one if there are two

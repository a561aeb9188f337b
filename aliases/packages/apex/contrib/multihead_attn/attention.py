"""The common base of both modules of attention."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...normalization import FusedLayerNorm


def jit_dropout_add(x: Tensor, residual: Tensor, prob: float, is_training: bool) -> Tensor:
    """Return ``residual`` plus ``x`` after dropout, whatever ``is_training`` is."""
    return residual + F.dropout(x, p=prob, training=True)


class Attention(nn.Module):
    """A module with a normalisation before it and the input added after it, if wanted.

    Args:
        embed_dim: The size of the inputs.
        num_heads: How many heads there are.
        dropout: The chance of a weight, and of an element of what is added, to be dropped.
        bias: Whether there are biases.
        include_norm_add: Whether to normalise the input before, and add it after.
        impl: ``"fast"``, with the parameters of the normalisation in this module, or ``"default"``.

    Raises:
        AssertionError: If the heads do not divide the size, or ``impl`` is unknown.
    """

    lyr_nrm: FusedLayerNorm | None
    out_proj_weight: Tensor

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float, bias: bool, include_norm_add: bool, impl: str
    ) -> None:
        super().__init__()
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.head_dim = embed_dim // num_heads
        assert self.head_dim * num_heads == embed_dim, "embed_dim must be divisible by num_heads"
        assert impl in ("fast", "default"), f"Unsupported impl: {impl} !"
        self.bias = bias
        self.include_norm_add = include_norm_add
        self.impl = impl
        self.scaling = self.head_dim**-0.5

    def _add_parameters(self, has_biases: bool, **sizes: int) -> None:
        """Add weights and biases: ``in_proj=3`` is a weight of thrice the size, and its bias."""
        for kind in ("weight", "bias"):
            for name, times in sizes.items():
                stem, separator, part = name.partition("__")
                shape = (times * self.embed_dim, self.embed_dim)[: 2 if kind == "weight" else 1]
                value = nn.Parameter(torch.empty(shape)) if kind == "weight" or has_biases else None
                self.register_parameter(f"{stem}_{kind}{separator[:1]}{part}", value)

    def _add_normalisation(self) -> None:
        fast = self.impl == "fast"
        if self.include_norm_add:
            for name in ("lyr_nrm_gamma_weights", "lyr_nrm_beta_weights"):
                self.register_parameter(name, nn.Parameter(torch.empty(self.embed_dim)) if fast else None)
        self.lyr_nrm = FusedLayerNorm(self.embed_dim) if self.include_norm_add and not fast else None

    def reset_parameters(self) -> None:
        """Set the parameters that both kinds of attention have: biases to zero, the normalisation to one."""
        nn.init.xavier_uniform_(self.out_proj_weight)
        for name, parameter in self.named_parameters(recurse=False):
            if "_bias" in name or name == "lyr_nrm_beta_weights":
                nn.init.zeros_(parameter)
            elif name == "lyr_nrm_gamma_weights":
                nn.init.ones_(parameter)
        if self.lyr_nrm is not None:
            self.lyr_nrm.reset_parameters()

    def _normalised_and_added(
        self, query: Tensor, attend: Callable[[Tensor], Tensor], is_training: bool
    ) -> Tensor:
        """Return what ``attend`` makes of the query, between the normalisation and the sum if wanted."""
        if self.lyr_nrm is None:
            return attend(query)
        outputs = attend(self.lyr_nrm(query))
        if is_training:
            return jit_dropout_add(outputs, query, self.dropout, is_training)
        return outputs + query


def only_mask(key_padding_mask: Tensor | None, attn_mask: Tensor | None) -> Tensor | None:
    """Return the mask that there is.

    Raises:
        AssertionError: If there are both.
    """
    if key_padding_mask is None:
        return attn_mask
    assert attn_mask is None, "ERROR attn_mask and key_padding_mask should not be both defined!"
    return key_padding_mask

"""Layer normalization of dropped-out inputs and a residual; see :mod:`.normalization` for the functions."""
# ruff: noqa: F401 (the imported names are part of the interface)

from __future__ import annotations

from functools import partial

from torch import Tensor

from .normalization import (
    DropoutAddLayerNormFn,
    DropoutAddLayerNormParallelResidualFn,
    DropoutAddLayerNormSubsetFn,
    DropoutAddNorm,
    dropout_add_norm,
    dropout_add_norm_parallel_residual,
    dropout_add_norm_subset,
)

dropout_add_layer_norm = partial(dropout_add_norm, False)
dropout_add_layer_norm_subset = partial(dropout_add_norm_subset, False)
dropout_add_layer_norm_parallel_residual = partial(dropout_add_norm_parallel_residual, False)


def maybe_align(x: Tensor, alignment_in_bytes: int = 16) -> Tensor:
    """Return ``x``, copied if its memory is not aligned to this number of bytes."""
    return x if x.data_ptr() % alignment_in_bytes == 0 else x.clone()


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor | None, epsilon: float) -> Tensor:
    """Normalize the last dimension of ``x``."""
    return dropout_add_norm(False, x, None, weight, bias, 0.0, epsilon)  # type: ignore[no-any-return]


class DropoutAddLayerNorm(DropoutAddNorm):
    """Layer normalization with dropout and a residual."""

    is_rms_norm = False

"""Layer normalization of dropped-out inputs and a residual; see :mod:`.normalization`."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from .._morph.original import initializer, recorded
from .normalization import DropoutAddNorm, dropout_add_norm

_of_layer_norm, _initializer = recorded(__name__), initializer(__name__)


@_of_layer_norm
def dropout_add_layer_norm(**arguments: Any) -> Any:
    """Apply dropout to ``x0``, add the residual, and normalize."""
    return dropout_add_norm(**arguments, is_rms_norm=False)


@_of_layer_norm
def dropout_add_layer_norm_parallel_residual(
    x1: Tensor | None, weight0: Tensor, bias0: Any, weight1: Any, bias1: Any, **arguments: Any
) -> Any:
    """Apply dropout to ``x0`` and ``x1``, add the residual, and normalize with two weights."""
    return dropout_add_norm(weight=weight0, bias=bias0, others=(x1, weight1, bias1), **arguments)


@_of_layer_norm
def layer_norm(x: Tensor, weight: Tensor, bias: Tensor | None, epsilon: float) -> Tensor:
    """Normalize the last dimension of ``x``."""
    return dropout_add_norm(x, None, weight, bias, 0.0, epsilon)  # type: ignore[no-any-return]


class DropoutAddLayerNorm(DropoutAddNorm):
    """Layer normalization with dropout and a residual."""

    is_rms_norm = False

    @_initializer
    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.make_with_dropout(**options)

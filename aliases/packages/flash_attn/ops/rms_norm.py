"""Root mean square normalization of dropped-out inputs and a residual; see :mod:`.normalization`."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from .._morph.original import initializer, recorded
from .normalization import Norm, dropout_add_norm

_of_rms_norm, _initializer = recorded(__name__), initializer(__name__)


@_of_rms_norm
def dropout_add_rms_norm(**arguments: Any) -> Any:
    """Apply dropout to ``x0``, add the residual, and normalize."""
    return dropout_add_norm(**arguments, is_rms_norm=True)


@_of_rms_norm
def rms_norm(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """Divide the last dimension of ``x`` by its root mean square."""
    return dropout_add_norm(x, None, weight, None, 0.0, epsilon, is_rms_norm=True)  # type: ignore[no-any-return]


class RMSNorm(Norm):
    """Root mean square normalization."""

    @_initializer
    def __init__(self, hidden_size: int, eps: float, **where: Any) -> None:
        super().__init__()
        self.eps = eps
        self.make(hidden_size, False, **where)

    def forward(self, x: Tensor) -> Tensor:
        """Normalize the last dimension of ``x``."""
        return rms_norm(x, self.weight, self.eps)  # type: ignore[no-any-return]

"""Linear layers and pairs of them, differentiated by torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from .._morph.checks import refuse_groups
from .._morph.original import initializer, recorded

_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu_approx": partial(functional.gelu, approximate="tanh"),
    "relu": functional.relu,
    "sqrelu": lambda x: functional.relu(x).square(),
}
_of_fused_dense, _initializer = recorded(__name__), initializer(__name__)


@_of_fused_dense
def fused_dense_func(
    x: Tensor, weight: Tensor, bias: Tensor | None, return_residual: bool, process_group: Any, **others: Any
) -> Any:
    """Apply a linear layer, and with ``return_residual`` also return ``x``."""
    refuse_groups(process_group)
    out = functional.linear(x, weight, bias)
    return (out, x) if return_residual else out


@_of_fused_dense
def fused_mlp_func(
    x: Tensor,
    weight1: Tensor,
    weight2: Tensor,
    bias1: Tensor | None,
    bias2: Tensor | None,
    activation: str,
    save_pre_act: bool,
    return_residual: bool,
    checkpoint_lvl: int,
    process_group: Any,
    **others: Any,
) -> Any:
    """Apply two linear layers with an activation between them: ``"gelu_approx"``, ``"relu"`` or ``"sqrelu"``.

    The backward pass recomputes nothing, the activation, or also its input, by ``checkpoint_lvl``; the last
    without ``save_pre_act`` too. With ``return_residual`` also return ``x``.
    """
    refuse_groups(process_group)
    level, act = checkpoint_lvl if save_pre_act else 2, _ACTIVATIONS[activation]

    def second(hidden: Tensor) -> Tensor:
        return functional.linear(act(hidden), weight2, bias2)

    def both(total: Tensor) -> Any:
        hidden = functional.linear(total, weight1, bias1)
        return checkpoint(second, hidden, use_reentrant=False) if level == 1 else second(hidden)

    out = checkpoint(both, x, use_reentrant=False) if level == 2 else both(x)
    return (out, x) if return_residual else out


class FusedDense(nn.Linear):
    """A linear layer, which also returns its input with ``return_residual``."""

    @_initializer
    def __init__(self, return_residual: bool, **options: Any) -> None:
        super().__init__(**options)
        self.return_residual = return_residual

    def forward(self, x: Tensor, process_group: Any = None) -> Any:
        """Apply the layer."""
        return fused_dense_func(x, self.weight, self.bias, self.return_residual, process_group)


class FusedMLP(nn.Module):
    """Two linear layers with an activation between them; see :func:`fused_mlp_func`."""

    @_initializer
    def __init__(
        self,
        in_features: int,
        hidden_features: int | None,
        out_features: int | None,
        bias1: bool,
        bias2: bool,
        device: Any,
        dtype: Any,
        **options: Any,
    ) -> None:
        super().__init__()
        assert options["checkpoint_lvl"] in (0, 1, 2)
        assert options["activation"] in _ACTIVATIONS
        hidden, out = hidden_features or 4 * in_features, out_features or in_features
        self.activation, self.return_residual = options["activation"], options["return_residual"]
        self.checkpoint_lvl, self.heuristic = options["checkpoint_lvl"], options["heuristic"]
        self.fc1 = nn.Linear(in_features, hidden, bias=bias1, device=device, dtype=dtype)
        self.fc2 = nn.Linear(hidden, out, bias=bias2, device=device, dtype=dtype)

    def forward(self, x: Tensor, process_group: Any = None) -> Any:
        """Apply both layers."""
        weights = self.fc1.weight, self.fc2.weight, self.fc1.bias, self.fc2.bias
        options = self.activation, self.training, self.return_residual, self.checkpoint_lvl
        return fused_mlp_func(x, *weights, *options, process_group=process_group)

"""What amp stores for an optimizer: its parameters by dtype, their masters, and stashed gradients."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import torch
from torch import Tensor


class AmpOptimizerState:
    """What amp stores for an optimizer, as attributes.

    Attributes:
        lazy_init_called: Whether the parameters were sorted.
        already_patched: Whether the next step will be skipped.
        params_have_scaled_gradients: Whether gradients are still scaled, since more will be added.
    """

    def __init__(self) -> None:
        self.lazy_init_called = False
        self.already_patched = False
        self.params_have_scaled_gradients = False

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def sorted_with_masters(
    params: list[Tensor], state: MutableMapping[Tensor, Any]
) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """Replace float16 parameters that require gradients with float32 masters.

    Args:
        params: The parameters of a group; changed in place.
        state: The optimizer's state, which masters inherit.

    Returns:
        The float16 parameters, their masters, and the float32 parameters.

    Raises:
        TypeError: If a parameter is neither float16 nor float32.
    """
    halves: list[Tensor] = []
    masters: list[Tensor] = []
    singles: list[Tensor] = []
    for index, param in enumerate(params):
        if not param.requires_grad:
            continue
        if not _is_half(param):
            singles.append(param)
            continue
        master = param.detach().clone().float().requires_grad_()
        if param in state:
            state[master] = state.pop(param)
        params[index] = master
        halves.append(param)
        masters.append(master)
    return halves, masters, singles


def stash_params_and_masters(stash: Any, params: list[Tensor], state: MutableMapping[Tensor, Any]) -> None:
    """Store the parameters of a group as sorted by ``sorted_with_masters``."""
    halves, masters, singles = sorted_with_masters(params, state)
    stash.fp16_groups.append(halves)
    stash.fp32_from_fp16_groups.append(masters)
    stash.fp32_from_fp32_groups.append(singles)
    stash.all_fp16_params += halves
    stash.all_fp32_from_fp16_params += masters
    stash.all_fp32_from_fp32_params += singles
    stash.all_fp16_grad_stash += [None] * len(halves)
    stash.all_fp32_from_fp32_grad_stash += [None] * len(singles)


def stash_params(stash: Any, params: list[Tensor]) -> None:
    """Sort the parameters of a group.

    Raises:
        TypeError: If one is neither float16 nor float32.
    """
    for param in params:
        if _is_half(param):
            stash.all_fp16_params.append(param)
            stash.all_fp16_grad_stash.append(None)
        else:
            stash.all_fp32_params.append(param)
            stash.all_fp32_grad_stash.append(None)


def _is_half(param: Tensor) -> bool:
    if param.dtype not in (torch.float16, torch.float32) or not param.is_cuda:
        raise TypeError(
            "Optimizer's parameters must be either torch.cuda.FloatTensor or torch.cuda.HalfTensor. "
            f"Received {param.type()}"
        )
    return param.dtype == torch.float16

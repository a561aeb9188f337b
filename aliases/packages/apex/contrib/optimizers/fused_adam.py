"""Adam with decoupled weight decay, in apex's first version."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from types import GeneratorType
from typing import Any

import torch
from torch import Tensor

from ...kernels.tensor_lists import full_precision, require
from ...optimizers.fused_optimizer import Closure, Group, evaluated, refuse_amsgrad

INSIDE, OUTSIDE = 0, 1
# parameters, their averages of gradients and of squares, gradients, and copies of the parameters
Lists = tuple[list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor]]


def by_group(given: Any, groups: int) -> Iterable[Any]:
    """Return tensors by parameter group, or None for each group if nothing is given.

    Args:
        given: None, tensors of one group, or lists of tensors.
        groups: The number of groups.
    """
    if given is None:
        return [None] * groups
    return [given] if isinstance(given, GeneratorType) or not isinstance(given[0], list) else given


class FusedAdam(torch.optim.Optimizer):
    """Adam, which optionally takes gradients, their scale, and copies of the parameters to update.

    Args:
        params: Parameters, float32, or dicts that define parameter groups.
        lr: The learning rate.
        bias_correction: Whether steps are corrected for averages that start from zero.
        betas: The decays of the averages of gradients and of their squares.
        eps: Added to the denominator.
        eps_inside_sqrt: Whether ``eps`` is added before the square root is taken.
        weight_decay: The factor of the weight decay, which is added to the update.
        max_grad_norm: The maximum norm of a group's gradients; 0 for no limit.
        amsgrad: Not supported.
        use_mt: Ignored: all parameters are updated at once.
        amp_scale_adjustment: Ignored: amp no longer passes gradients to this optimizer.

    Raises:
        RuntimeError: If ``amsgrad`` is requested.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        bias_correction: bool = True,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        eps_inside_sqrt: bool = False,
        weight_decay: float = 0.0,
        max_grad_norm: float = 0.0,
        amsgrad: bool = False,
        use_mt: bool = False,
        amp_scale_adjustment: float = 1.0,
    ) -> None:
        refuse_amsgrad("FusedAdam", amsgrad)
        rates = {"lr": lr, "bias_correction": bias_correction, "betas": betas, "eps": eps}
        super().__init__(params, {**rates, "weight_decay": weight_decay, "max_grad_norm": max_grad_norm})
        self.eps_mode = INSIDE if eps_inside_sqrt else OUTSIDE

    def step(
        self,
        closure: Closure | None = None,
        grads: Any = None,
        output_params: Any = None,
        scale: float = 1.0,
        grad_norms: Any = None,
    ) -> Any:
        """Update the parameters, and return the loss if there is a closure.

        Args:
            closure: Re-evaluates the model and returns the loss.
            grads: Gradients of one group or by group; None for those of the parameters.
            output_params: Copies of the parameters to write, like ``grads``.
            scale: The divisor of the gradients.
            grad_norms: The norm of each group's gradients before the division, if ``max_grad_norm`` is set.

        Raises:
            RuntimeError: If a gradient is sparse, or a parameter is not supported.
        """
        loss = evaluated(closure)
        number = len(self.param_groups)
        norms = [None] * number if grad_norms is None else grad_norms
        given = by_group(grads, number), by_group(output_params, number)
        with torch.no_grad():
            for group, its_grads, copies, norm in zip(self.param_groups, *given, norms, strict=False):
                divisor = _clipped(scale, norm, group["max_grad_norm"])
                for step, lists in self._by_step(group, its_grads, copies).items():
                    self._update(group, step, lists, divisor)
        return loss

    def _update(self, group: Group, step: int, lists: Lists, divisor: float) -> None:
        params, averages, squares, grads, copies = lists
        dtype = torch.float32 if grads[0].dtype == torch.float16 else grads[0].dtype
        require(all(param.dtype == dtype for param in params), "expected parameter to be of float type")
        length, (beta1, beta2) = group["lr"], group["betas"]
        if group["bias_correction"]:
            length *= math.sqrt(1 - beta2**step) / (1 - beta1**step)
        scaled = torch._foreach_div(full_precision(grads), divisor)
        torch._foreach_lerp_(averages, scaled, 1 - beta1)
        torch._foreach_mul_(squares, beta2)
        torch._foreach_addcmul_(squares, scaled, scaled, 1 - beta2)
        inside, outside = (group["eps"], 0.0) if self.eps_mode == INSIDE else (0.0, group["eps"])
        denominators = torch._foreach_add(squares, inside)
        torch._foreach_sqrt_(denominators)
        torch._foreach_add_(denominators, outside)
        if group["weight_decay"]:
            torch._foreach_mul_(params, 1 - length * group["weight_decay"])
        torch._foreach_addcdiv_(params, averages, denominators, -length)
        if copies:
            torch._foreach_copy_(copies, params)

    def _by_step(self, group: Group, grads: Any, copies: Any) -> dict[int, Lists]:
        sorts: dict[int, Lists] = {}
        nothing = itertools.repeat(None)
        for param, given, copy in zip(group["params"], grads or nothing, copies or nothing, strict=False):
            grad = param.grad if given is None else given
            if grad is None:
                continue
            sparse = "FusedAdam does not support sparse gradients, please consider SparseAdam instead"
            require(not grad.is_sparse, sparse)
            state = self._counted(param)
            lists = sorts.setdefault(state["step"], ([], [], [], [], []))
            tensors = (param, state["exp_avg"], state["exp_avg_sq"], grad, copy)
            for tensor, members in zip(tensors, lists, strict=True):
                if tensor is not None:
                    members.append(tensor)
        return sorts

    def _counted(self, param: Tensor) -> dict[str, Any]:
        state: dict[str, Any] = self.state[param]
        if not state:
            averages = {key: torch.zeros_like(param) for key in ("exp_avg", "exp_avg_sq")}
            state.update(step=0, **averages)
        state["step"] += 1
        return state


def _clipped(scale: float, norm: Any, limit: float) -> float:
    """Return the divisor with which the gradients' norm is at most ``limit``, if there is one."""
    excess = (float(norm) / scale + 1e-6) / limit if limit > 0 else 1.0
    return max(excess, 1.0) * scale

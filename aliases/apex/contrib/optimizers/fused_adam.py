"""Adam with decoupled weight decay, as apex had it first."""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch import Tensor

from ...kernels.contrib_adam import INSIDE, OUTSIDE, ContribAdam, update
from ...optimizers.fused_optimizer import Closure, Group, evaluated
from .arguments import by_group

# parameters, their averages of gradients and of squares, gradients, and copies of the parameters
Lists = tuple[list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor]]


class FusedAdam(torch.optim.Optimizer):
    """Adam, which may be handed gradients, their scale, and copies of the parameters to keep.

    Args:
        params: Parameters, float32, or dicts that define groups of them.
        lr: The learning rate.
        bias_correction: Whether steps are as long as averages that start from zero call for.
        betas: The decays of the averages of gradients and of their squares.
        eps: Added to the denominator.
        eps_inside_sqrt: Whether ``eps`` is added before the square root is taken.
        weight_decay: The factor of the weight decay, which joins the update.
        max_grad_norm: What the norm of a group's gradients is clipped to; 0 for no limit.
        amsgrad: Not supported.
        use_mt: Not looked at: all parameters are updated at once.
        amp_scale_adjustment: Not looked at: amp does not hand gradients to this optimizer any more.

    Raises:
        RuntimeError: If ``amsgrad`` is asked for.
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
        if amsgrad:
            raise RuntimeError("FusedAdam does not support the AMSGrad variant.")
        defaults = {
            "lr": lr,
            "bias_correction": bias_correction,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "max_grad_norm": max_grad_norm,
        }
        super().__init__(params, defaults)
        self.eps_mode = INSIDE if eps_inside_sqrt else OUTSIDE

    def step(
        self,
        closure: Closure | None = None,
        grads: Any = None,
        output_params: Any = None,
        scale: float = 1.0,
        grad_norms: Any = None,
    ) -> Any:
        """Update the parameters.

        Args:
            closure: Evaluates the model again, and returns the loss.
            grads: Gradients, of one group or by groups; None for those of the parameters.
            output_params: Copies of the parameters to write, as ``grads``.
            scale: What the gradients are divided by.
            grad_norms: The norm of each group's gradients, before that; where ``max_grad_norm`` is set.

        Returns:
            The loss, if there is a closure.

        Raises:
            RuntimeError: If a gradient is sparse, or a parameter is not supported.
        """
        loss = evaluated(closure)
        number = len(self.param_groups)
        norms = [None] * number if grad_norms is None else grad_norms
        given = by_group(grads, number), by_group(output_params, number)
        with torch.no_grad():
            for group, its_grads, copies, norm in zip(self.param_groups, *given, norms, strict=False):
                self._step(group, its_grads, copies, _clipped(scale, norm, group["max_grad_norm"]))
        return loss

    def _step(self, group: Group, grads: Any, copies: Any, scale: float) -> None:
        for step, lists in self._by_step(group, grads, copies).items():
            params, averages, squares, gradients, outputs = lists
            betas: tuple[float, float] = group["betas"]
            options = ContribAdam(
                group["lr"],
                *betas,
                group["eps"],
                scale,
                step,
                self.eps_mode,
                group["bias_correction"],
                group["weight_decay"],
            )
            update(gradients, params, averages, squares, options)
            if outputs:
                torch._foreach_copy_(outputs, params)

    def _by_step(self, group: Group, grads: Any, copies: Any) -> dict[int, Lists]:
        sorts: dict[int, Lists] = {}
        nothing = itertools.repeat(None)
        for param, given, copy in zip(group["params"], grads or nothing, copies or nothing, strict=False):
            grad = param.grad if given is None else given
            if grad is None:
                continue
            if grad.is_sparse:
                raise RuntimeError(
                    "FusedAdam does not support sparse gradients, please consider SparseAdam instead"
                )
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
    """Return what gradients are divided by so that their norm is at most ``limit``, if there is one."""
    excess = (float(norm) / scale + 1e-6) / limit if limit > 0 else 1.0
    return max(excess, 1.0) * scale

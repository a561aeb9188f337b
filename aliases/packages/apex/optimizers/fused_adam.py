"""Adam and AdamW."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ..kernels.adam import Adam, update
from ..kernels.original import initializer
from .fused_optimizer import Closure, FusedOptimizer, Group, gradients, make_tensors, next_step, scale_of

# only these have masters, as in apex
WITH_MASTERS = (torch.float16, torch.float32)


class FusedAdam(FusedOptimizer):
    """``torch.optim.AdamW``, or ``torch.optim.Adam``, of float16, bfloat16 and float32.

    Args (the others are torch's):
        bias_correction: Whether the averages are corrected for their initial zeros.
        adam_w_mode: Whether the weight decay is decoupled.
        amsgrad: Not supported.
        set_grad_none: Whether ``zero_grad()`` sets gradients to None.
        capturable: Whether steps may be captured in a graph: the learning rate and the number of the step
            are then tensors, and ``step()`` takes a gradient scaler.
        master_weights: Whether there are float32 masters; only with ``capturable``.

    Raises:
        RuntimeError: If ``amsgrad`` is requested, or masters without ``capturable``.
    """

    modes = ("set_grad_none", "adam_w_mode", "capturable", "master_weights")
    supported = (torch.float16, torch.bfloat16, torch.float32)
    adam_w_mode: int
    capturable: bool
    master_weights: bool

    @initializer(__name__)
    def __init__(self, **options: Any) -> None:
        if options["master_weights"] and not options["capturable"]:
            raise RuntimeError("Master weights is currently only supported with the capturable version.")
        self.param_groups_master: list[dict[str, list[Tensor | None]]] = []
        super().__init__(**options)
        if self.capturable:
            self._step_supports_amp_scaling = True

    def add_param_group(self, param_group: Group) -> None:
        """Add a parameter group, with masters and a learning rate on the parameters' device if needed."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        if self.capturable and group["params"]:
            make_tensors(group, step=0)
        masters = [
            param.detach().clone().float() if self.master_weights else None for param in group["params"]
        ]
        self.param_groups_master.append({"params": masters})

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load a state dict of this optimizer or of apex's; averages stay float32."""
        super().load_state_dict(dict(state_dict))
        self._restore_precision(state_dict)
        for group in self.param_groups if self.capturable else ():
            make_tensors(group, step=0)  # a state saved without ``capturable`` has numbers

    def step(
        self,
        closure: Closure | None = None,
        grads: Any = None,
        output_params: Any = None,
        scale: Any = None,
        grad_norms: Any = None,
        grad_scaler: Any = None,
    ) -> Any:
        """Update the parameters, and return the loss if there is a closure.

        With ``capturable``, ``grad_scaler`` unscales the gradients, and decides whether to skip the step.

        Raises:
            RuntimeError: If another argument is given, or a parameter is not supported.
        """
        if any(argument is not None for argument in (grads, output_params, scale, grad_norms)):
            raise RuntimeError(
                "FusedAdam has been updated.  Simply initialize it identically to torch.optim.Adam, "
                "and call step() with no arguments."
            )
        loss = None if closure is None else closure()
        with torch.no_grad():
            for group, masters in zip(self.param_groups, self.param_groups_master, strict=True):
                if group["params"] and self.capturable:
                    self._step_capturable(group, masters["params"], grad_scaler)
                elif group["params"]:
                    self._step(group)
        return loss

    def _step(self, group: Group) -> None:
        options = self._options(group, group["lr"], next_step(group))
        for params in self._by_dtype(group).values():
            update((gradients(params), params, *self._averages(params, torch.float32)), options)

    def _step_capturable(self, group: Group, masters: list[Tensor | None], grad_scaler: Any) -> None:
        grad_scale, found_inf = scale_of(self, grad_scaler, group["params"][0].device)
        self._dummy_overflow_buf.copy_(found_inf)
        step = group["step"].add_((found_inf != 1).to(torch.int))
        options = self._options(group, group["lr"].reshape(()), step)
        master_of = dict(zip(group["params"], masters, strict=True))
        for dtype, params in self._by_dtype(group).items():
            with_masters = self.master_weights and dtype in WITH_MASTERS
            worked_on: Any = [master_of[param] for param in params] if with_masters else params
            lists = gradients(params), worked_on, *self._averages(params, torch.float32)
            update(lists, options, grad_scale, found_inf)
            if with_masters:
                torch._foreach_copy_(params, worked_on)

    def _options(self, group: Group, lr: Any, step: int | Tensor) -> Adam:
        rest = self.adam_w_mode, group["bias_correction"], group["weight_decay"]
        values: list[Any] = [lr, *group["betas"], group["eps"], step, *rest]
        return Adam(*values)

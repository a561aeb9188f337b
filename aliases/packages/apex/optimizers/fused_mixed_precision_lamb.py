"""LAMB with float32 masters, whose options that change from step to step are tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ..kernels.lamb import clipping, update
from ..kernels.original import initializer
from .fused_lamb import global_norm, options_of
from .fused_optimizer import Closure, FusedOptimizer, Group, gradients, make_tensors, scale_of


class FusedMixedPrecisionLamb(FusedOptimizer):
    """LAMB that maintains float32 masters of low-precision parameters, and takes a gradient scaler.

    Args (the others are those of ``FusedLAMB``):
        step: The number of earlier steps.
        reduced_precision_dtype: The dtype of the parameters with masters.

    Raises:
        RuntimeError: If ``amsgrad`` is requested.
    """

    modes = ("adam_w_mode", "use_nvlamb", "reduced_precision_dtype")
    supported = (torch.float16, torch.bfloat16, torch.float32)
    reduced_precision_dtype: torch.dtype | None

    @initializer(__name__)
    def __init__(self, **options: Any) -> None:
        self.param_groups_full_precision: list[dict[str, list[Tensor | None]]] = []
        super().__init__(**options)
        self._step_supports_amp_scaling = True

    def add_param_group(self, param_group: Group) -> None:
        """Add a parameter group with its own learning rate and step count."""
        super().add_param_group(param_group)
        make_tensors(self.param_groups[-1])

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load a state dict of this optimizer or of apex's; averages stay float32."""
        super().load_state_dict(dict(state_dict))
        self._restore_precision(state_dict)
        for group in self.param_groups:
            make_tensors(group)

    @torch.no_grad()
    def step(self, closure: Closure | None = None, grad_scaler: Any = None) -> Any:
        """Update the parameters; ``grad_scaler`` unscales gradients, and decides whether to skip the step."""
        with torch.enable_grad():
            loss = None if closure is None else closure()
        self._add_masters()
        scale, found_inf = scale_of(self, grad_scaler, self._device())
        scale = torch.ones((), device=self._device()) if scale is None else scale
        self._dummy_overflow_buf.copy_(found_inf)
        everything = [param for group in self.param_groups for param in group["params"]]
        total = global_norm([everything], self._device())
        divisor = clipping(total, self.defaults["max_grad_norm"] * scale) * scale
        for group, full in zip(self.param_groups, self.param_groups_full_precision, strict=True):
            group["step"] += (found_inf != 1).to(torch.int)
            self._update(group, full["params"], divisor, found_inf)
        return loss

    def _add_masters(self) -> None:
        for group in self.param_groups[len(self.param_groups_full_precision) :]:
            masters = [
                param.detach().clone().float() if param.dtype == self.reduced_precision_dtype else None
                for param in group["params"]
            ]
            self.param_groups_full_precision.append({"params": masters})

    def _update(self, group: Group, masters: list[Tensor | None], divisor: Tensor, found_inf: Tensor) -> None:
        first = group["params"][0].dtype
        for param in group["params"]:
            assert param.dtype == first, (
                f"Error: Parameters are not of the identical type: {first} != {param.dtype}"
            )
        master_of = dict(zip(group["params"], masters, strict=True))
        options = options_of(group, group["lr"].reshape(()), group["step"], self)
        for params in self._by_dtype(group).values():
            worked_on = [param if (master := master_of[param]) is None else master for param in params]
            lists = gradients(params), worked_on, *self._averages(params, worked_on[0].dtype)
            update(lists, options, divisor, found_inf)
            if worked_on[0] is not params[0]:
                torch._foreach_copy_(params, worked_on)

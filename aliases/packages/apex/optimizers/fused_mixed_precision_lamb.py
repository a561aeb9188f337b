"""LAMB with float32 masters, whose options that change from step to step are tensors."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ..kernels.lamb import clipping, multi_tensor_lamb_mp, update
from ..kernels.scaling import multi_tensor_l2norm_mp, norms
from .fused_lamb import options_of
from .fused_optimizer import Averages, Closure, Group, evaluated, gradients, refuse_amsgrad, scale_of


class FusedMixedPrecisionLamb(torch.optim.Optimizer):
    """LAMB that maintains float32 masters of low-precision parameters, and takes a gradient scaler.

    Args (the others are those of ``FusedLAMB``):
        params: Parameters of one dtype in each group, or dicts that define parameter groups.
        lr: The learning rate, stored as a tensor.
        step: The number of earlier steps.
        reduced_precision_dtype: The dtype of the parameters with masters.

    Raises:
        RuntimeError: If ``amsgrad`` is requested.
    """

    multi_tensor_l2norm = staticmethod(multi_tensor_l2norm_mp)
    multi_tensor_lamb = staticmethod(multi_tensor_lamb_mp)

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        step: int = 0,
        bias_correction: bool = True,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.01,
        amsgrad: bool = False,
        adam_w_mode: bool = True,
        grad_averaging: bool = True,
        max_grad_norm: float = 1.0,
        use_nvlamb: bool = False,
        reduced_precision_dtype: torch.dtype | None = None,
    ) -> None:
        refuse_amsgrad("FusedLAMB", amsgrad)
        defaults = {
            **{"lr": torch.tensor(lr, dtype=torch.float32), "step": torch.tensor([step], dtype=torch.int)},
            **{"bias_correction": bias_correction, "betas": betas, "eps": eps},
            **{"weight_decay": weight_decay, "grad_averaging": grad_averaging},
            "max_grad_norm": max_grad_norm,
        }
        self.reduced_precision_dtype = reduced_precision_dtype
        self.param_groups_full_precision: list[dict[str, list[Tensor | None]]] = []
        super().__init__(params, defaults)
        device = self.param_groups[0]["params"][0].device
        self._dummy_overflow_buf = torch.zeros(1, dtype=torch.int, device=device)
        self._step_supports_amp_scaling = True
        self.adam_w_mode = 1 if adam_w_mode else 0
        self.use_nvlamb = use_nvlamb

    def add_param_group(self, param_group: Group) -> None:
        """Add a parameter group with its own learning rate and step count."""
        super().add_param_group(param_group)
        _make_tensors(self.param_groups[-1])

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load a state dict of this optimizer or of apex's; its tensors keep dtype and device.

        Raises:
            ValueError: If its groups do not match those of the optimizer.
        """
        groups, saved_groups = self.param_groups, state_dict["param_groups"]
        if len(groups) != len(saved_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(groups, saved_groups, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group "
                "that doesn't match the size of optimizer's group"
            )
        numbers = itertools.chain.from_iterable(group["params"] for group in saved_groups)
        params = itertools.chain.from_iterable(group["params"] for group in groups)
        by_number = dict(zip(numbers, params, strict=True))
        state = {by_number.get(key, key): _copied(value) for key, value in state_dict["state"].items()}
        loaded = [
            {**_copied(saved), "params": group["params"]}
            for group, saved in zip(groups, saved_groups, strict=True)
        ]
        for group in loaded:
            _make_tensors(group)
        self.__setstate__({"state": state, "param_groups": loaded})

    @torch.no_grad()
    def step(self, closure: Closure | None = None, grad_scaler: Any = None) -> Any:
        """Update the parameters; ``grad_scaler`` unscales gradients, and decides whether to skip the step."""
        with torch.enable_grad():
            loss = evaluated(closure)
        self._add_masters()
        device = self.param_groups[0]["params"][0].device
        scale, found_inf = scale_of(self, grad_scaler, device)
        scale = torch.ones((), device=device) if scale is None else scale
        self._dummy_overflow_buf.copy_(found_inf)
        everything = [param for group in self.param_groups for param in group["params"]]
        total, _ = norms(gradients(everything))
        divisor = clipping(total, self.defaults["max_grad_norm"] * scale) * scale
        for group, full in zip(self.param_groups, self.param_groups_full_precision, strict=True):
            group["step"] += (found_inf != 1).to(torch.int)
            self._step(group, full["params"], divisor, found_inf)
        return loss

    def _add_masters(self) -> None:
        for group in self.param_groups[len(self.param_groups_full_precision) :]:
            masters = [
                param.detach().clone().float() if param.dtype == self.reduced_precision_dtype else None
                for param in group["params"]
            ]
            self.param_groups_full_precision.append({"params": masters})

    def _step(self, group: Group, masters: list[Tensor | None], divisor: Tensor, found_inf: Tensor) -> None:
        first = group["params"][0].dtype
        for param in group["params"]:
            assert param.dtype == first, (
                f"Error: Parameters are not of the identical type: {first} != {param.dtype}"
            )
        pairs = [
            (param, param if master is None else master)
            for param, master in zip(group["params"], masters, strict=True)
            if param.grad is not None
        ]
        if pairs:
            params, worked_on = [param for param, _ in pairs], [master for _, master in pairs]
            averages = self._averages(params, worked_on)
            options = options_of(group, group["lr"].reshape(()), group["step"], self)
            update(gradients(params), worked_on, *averages, options, divisor, found_inf)
            if worked_on[0] is not params[0]:
                torch._foreach_copy_(params, worked_on)

    def _averages(self, params: list[Tensor], models: list[Tensor]) -> Averages:
        for param, model in zip(params, models, strict=True):
            if not self.state[param]:
                self.state[param].update(exp_avg=torch.zeros_like(model), exp_avg_sq=torch.zeros_like(model))
        states = [self.state[param] for param in params]
        return [state["exp_avg"] for state in states], [state["exp_avg_sq"] for state in states]


def _make_tensors(group: Group) -> None:
    """Replace a group's learning rate and step, which may be numbers, with new tensors."""
    device = group["params"][0].device
    for name, dtype, shape in (("lr", torch.float32, ()), ("step", torch.int, (1,))):
        group[name] = torch.as_tensor(group[name], dtype=dtype).reshape(shape).clone().to(device)


def _copied(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.clone() if isinstance(value, Tensor) else value for name, value in values.items()}

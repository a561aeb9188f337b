"""The optimizers' updates in float64, from their papers and apex's documentation, one tensor at a time."""

import dataclasses
import math
from typing import Any

import torch
from torch import Tensor

Values = list[Tensor]


@dataclasses.dataclass
class Formula:
    """A reference optimizer; each subclass implements how one step changes one tensor.

    Attributes:
        options: All of apex's options, by name.
        params: The parameters in float64.
    """

    options: dict[str, Any]
    params: Values
    step_number: int = 0
    state: list[dict[str, Any]] = dataclasses.field(default_factory=list)

    def step(self, grads: Values) -> None:
        self.step_number += 1
        if not self.state:
            self.state = [{} for _ in grads]
        for param, grad, state in zip(self.params, self.prepared(grads), self.state, strict=True):
            self.change(param, grad, state)

    def prepared(self, grads: Values) -> Values:
        return grads

    def change(self, param: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        raise NotImplementedError

    def moments(self, grad: Tensor, state: dict[str, Any], weight: float) -> tuple[Tensor, Tensor]:
        """Returns both bias-corrected moments updated with `grad`, which enters the first with `weight`."""
        beta1, beta2 = self.options["betas"]
        zero = torch.zeros_like(grad)
        first = state["m"] = beta1 * state.get("m", zero) + weight * grad
        second = state["v"] = beta2 * state.get("v", zero) + (1 - beta2) * grad**2
        if not self.options["bias_correction"]:
            return first, second
        return first / (1 - beta1**self.step_number), second / (1 - beta2**self.step_number)


class Adam(Formula):
    def change(self, param: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        decay = self.options["weight_decay"]
        if not self.options["adam_w_mode"]:
            grad = grad + decay * param
        first, second = self.moments(grad, state, 1 - self.options["betas"][0])
        update = first / (second.sqrt() + self.options["eps"])
        if self.options["adam_w_mode"]:
            update = update + decay * param
        param -= self.options["lr"] * update


class Lamb(Formula):
    def prepared(self, grads: Values) -> Values:
        total = math.sqrt(sum(float((grad**2).sum()) for grad in grads))
        divisor = max(total / self.options["max_grad_norm"], 1.0)
        return [grad / divisor for grad in grads]

    def change(self, param: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        decay = self.options["weight_decay"]
        if not self.options["adam_w_mode"]:
            grad = grad + decay * param
        weight = 1 - self.options["betas"][0] if self.options["grad_averaging"] else 1.0
        first, second = self.moments(grad, state, weight)
        update = first / (second.sqrt() + self.options["eps"])
        if self.options["adam_w_mode"]:
            update = update + decay * param
        ratio = 1.0
        if decay or self.options["use_nvlamb"]:
            lengths = float(param.norm()), float(update.norm())
            ratio = lengths[0] / lengths[1] if all(lengths) else 1.0
        param -= self.options["lr"] * ratio * update


class SGD(Formula):
    def change(self, param: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        decay, momentum = self.options["weight_decay"], self.options["momentum"]
        if not self.options["wd_after_momentum"]:
            grad = grad + decay * param
        if momentum:
            kept = momentum * state["m"] + (1 - self.options["dampening"]) * grad if state else grad
            state["m"] = kept
            grad = grad + momentum * kept if self.options["nesterov"] else kept
        if self.options["wd_after_momentum"]:
            grad = grad + decay * param
        param -= self.options["lr"] * grad


class Adagrad(Formula):
    def change(self, param: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        decay = self.options["weight_decay"]
        if not self.options["adagrad_w_mode"]:
            grad = grad + decay * param
        total = state["sum"] = state.get("sum", 0) + grad**2
        update = grad / (total.sqrt() + self.options["eps"])
        if self.options["adagrad_w_mode"]:
            update = update + decay * param
        param -= self.options["lr"] * update


class NovoGrad(Formula):
    def change(self, param: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        (beta1, beta2), decay = self.options["betas"], self.options["weight_decay"]
        norm = self.blended(grad, state, beta2)
        corrections = 1.0, 1.0
        if self.options["bias_correction"]:
            corrections = 1 - beta1**self.step_number, math.sqrt(1 - beta2**self.step_number)
        denominator = norm / corrections[1] + self.options["eps"]
        inside = self.options["reg_inside_moment"]
        joining = grad / denominator + decay * param if inside else grad
        weight = 1 - beta1 if self.options["grad_averaging"] else 1.0
        state["m"] = beta1 * state.get("m", torch.zeros_like(grad)) + weight * joining
        update = state["m"] / corrections[0]
        if not inside:
            update = update / denominator + decay * param
        param -= self.options["lr"] * update

    def blended(self, grad: Tensor, state: dict[str, Any], beta2: float) -> float:
        largest = self.options["norm_type"] == 0
        norm = float(grad.abs().max()) if largest else float(grad.norm())
        kept = state.get("norm", 0.0 if self.options["init_zero"] else norm)
        if largest:
            state["norm"] = beta2 * kept + (1 - beta2) * norm
        else:
            state["norm"] = math.sqrt(beta2 * kept**2 + (1 - beta2) * norm**2)
        return float(state["norm"])

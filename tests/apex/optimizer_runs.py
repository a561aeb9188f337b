"""Runs the fused optimizers alongside their float64 formulas."""

import inspect
import itertools
from typing import Any

import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tests.apex import optimizer_formulas as formulas
from tests.apex.optimizer_formulas import Formula
from tests.apex.precision import doubles, values

SIZES = ((7,), (3, 5), (2, 3, 4, 4), (1,), (130, 17))
FORMULAS = {
    "FusedAdam": formulas.Adam,
    "FusedLAMB": formulas.Lamb,
    "FusedMixedPrecisionLamb": formulas.Lamb,
    "FusedSGD": formulas.SGD,
    "FusedAdagrad": formulas.Adagrad,
    "FusedNovoGrad": formulas.NovoGrad,
}
REQUIRED = {"FusedSGD": {"lr": 0.1}}


def optimizer_class(name: str) -> Any:
    import apex.optimizers

    return getattr(apex.optimizers, name)


def made(name: str, params: Any, **chosen: Any) -> Any:
    """Returns an optimizer, with the one option that has no default."""
    return optimizer_class(name)(params, **{**REQUIRED.get(name, {}), **chosen})


def options_of(name: str, **chosen: Any) -> dict[str, Any]:
    """Returns all options of an optimizer: its defaults, overridden by `chosen`."""
    parameters = inspect.signature(optimizer_class(name).__init__).parameters.values()
    defaults = {each.name: each.default for each in parameters if each.default is not each.empty}
    return {**defaults, **REQUIRED.get(name, {}), **chosen}


def parameters(dtype: torch.dtype, sizes: tuple[tuple[int, ...], ...] = SIZES) -> list[nn.Parameter]:
    made = [values(index, *size, dtype=dtype) for index, size in enumerate(sizes)]
    made[0][:] = 0  # has a norm of zero
    return [nn.Parameter(value) for value in made]


def set_gradients(params: list[nn.Parameter], seed: int, scale: float = 1.0) -> list[Tensor]:
    """Sets random gradients, and returns them in float64."""
    generator = torch.Generator().manual_seed(seed)
    for param in params:
        param.grad = (scale * torch.randn(param.shape, generator=generator)).to(param.device, param.dtype)
    return [param.grad.cpu().double() for param in params if param.grad is not None]


def follow(
    name: str, dtype: torch.dtype, steps: int = 4, masters: bool = False, **chosen: Any
) -> tuple[Any, Formula]:
    """Runs an optimizer and its formula side by side, and checks that they agree after every step.

    With float32 masters, the rounding of the parameters does not accumulate.
    """
    params = parameters(dtype)
    optimizer = made(name, params, **chosen)
    formula = FORMULAS[name](options_of(name, **chosen), doubles(params))
    for step in range(steps):
        formula.step(set_gradients(params, step, scale=0.3))
        optimizer.step()
        for param, expected in zip(params, formula.params, strict=True):
            if masters:
                assert_close(param.detach().cpu(), expected.to(dtype))
                continue
            close(param, expected, dtype)
            if dtype != torch.float32:  # rounding must not accumulate over the steps
                expected.copy_(param.detach().cpu())
    return optimizer, formula


def close(actual: Tensor, expected: Tensor, dtype: torch.dtype) -> None:
    tolerance = {torch.float32: 2e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}[dtype]
    assert_close(actual.detach().cpu().double(), expected, rtol=tolerance, atol=tolerance / 10)


def grid(**choices: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]

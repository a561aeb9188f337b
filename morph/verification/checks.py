"""The checks of ``morph verify``: results on "cuda" must equal the CPU's."""

from __future__ import annotations

import enum
import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from morph.base.errors import MorphError
from morph.verification.behaviour import BEHAVIOUR
from morph.verification.operators import OPERATORS, Function, inputs

RELATIVE, ABSOLUTE = 1e-3, 1e-4  # float32 on units that may round to fewer bits


class Outcome(enum.Enum):
    """The outcome of a check."""

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one check.

    Attributes:
        group: The group of the check: "elementwise", "autograd", "amp" ...
        name: The name of the operator or the check.
        outcome: The outcome.
        detail: The difference or the exception, in one line.
    """

    group: str
    name: str
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """A statement that must hold on a CUDA device."""

    group: str
    name: str
    run: Callable[[str], None]


def checks() -> Iterator[Check]:
    """Yield every check: the operators forward and, where possible, backward, then programs' behaviour."""
    for group, functions in OPERATORS.items():
        for name, function in functions.items():
            yield Check(group, name, functools.partial(_forward, function))
            if _is_differentiable(function):
                yield Check(group, f"{name}, backward", functools.partial(_backward, function))
    for group, behaviours in BEHAVIOUR.items():
        for name, behaviour in behaviours.items():
            yield Check(group, name, behaviour)


def verify(check: Check, device: str) -> Result:
    """Run one check.

    Args:
        check: The check.
        device: The device in CUDA's spelling, such as ``"cuda:1"``.
    """
    try:
        check.run(device)
    except AssertionError as error:
        return Result(check.group, check.name, Outcome.FAIL, _line(error))
    except Exception as error:  # any exception from a device is a result of the check
        return Result(check.group, check.name, Outcome.ERROR, f"{type(error).__name__}: {_line(error)}")
    return Result(check.group, check.name, Outcome.PASS)


def _arguments(function: Function, device: str, *, gradients: bool = False) -> list[Tensor]:
    every = inputs()
    tensors = [every[name].to(device) for name in inspect.signature(function).parameters]
    return [tensor.requires_grad_(gradients and tensor.is_floating_point()) for tensor in tensors]


def _is_differentiable(function: Function) -> bool:
    result = function(*_arguments(function, "cpu", gradients=True))
    return isinstance(result, Tensor) and result.requires_grad


def _forward(function: Function, device: str) -> None:
    computed = function(*_arguments(function, device))
    _is_on(computed, device)
    _is_close(computed.cpu(), function(*_arguments(function, "cpu")))


def _backward(function: Function, device: str) -> None:
    grads = []
    for where in (device, "cpu"):
        arguments = _arguments(function, where, gradients=True)
        function(*arguments).sin().sum().backward()
        grads.append([each.grad.cpu() for each in arguments if each.grad is not None])
    _is_close(*grads)


def _is_close(computed: Any, expected: Any) -> None:
    torch.testing.assert_close(computed, expected, rtol=RELATIVE, atol=ABSOLUTE)


def _is_on(computed: Any, device: str) -> None:
    if not computed.is_cuda:  # pytest adds to what an assert says
        raise AssertionError(f"the result is on {computed.device}, not on {device}")


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]


def ensure_device(device: str) -> None:
    """Raise unless there is a device.

    Args:
        device: In CUDA's spelling.

    Raises:
        MorphError: If there is no device of that name.
    """
    kind, _, number = device.partition(":")
    if kind != "cuda" or not (number or "0").isdigit():
        raise MorphError(f"{device!r} is no CUDA device")
    count = torch.cuda.device_count()
    if int(number or 0) >= count:
        available = f"there are cuda:0 to cuda:{count - 1}" if count > 1 else "there is cuda:0"
        raise MorphError(f"there is no {device} here; {available}")

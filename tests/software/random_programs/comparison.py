"""Compares a program's results with the model's: values, layouts, devices, aliases, identities."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import torch

from tests.software.random_programs import choices, programs
from tests.software.random_programs.model import Tensor
from tests.software.random_programs.programs import Program


def differences(seed: int) -> list[str]:
    """Runs the program of a seed on the model and on torch; returns the differences, and then its text."""
    program = choices.program(seed)
    with torch.no_grad():
        found = compare(seed, program, *programs.run(program))
    return [*found, programs.describe(program)] if found else []


def compare(seed: int, program: Program, variables: list[Any], refusals: dict[int, str]) -> list[str]:
    """Returns where what torch made and refused is not as on the model."""
    found = _refusals(program, refusals)
    if not found:
        found = [line for pair in enumerate(zip(program.variables, variables, strict=True))
                 for line in _variable(pair[0], *pair[1])]  # fmt: skip
        found += _partition("identity", map(id, program.variables), map(id, variables))
        found += _partition("memory", (id(x.storage.memory) for x in program.variables), _groups(variables))
    return [f"program {seed}: {line}" for line in found]


def _refusals(program: Program, refusals: dict[int, str]) -> list[str]:
    lines = []
    for number in sorted({*program.refusals, *refusals}):
        expected, actual = program.refusals.get(number), refusals.get(number)
        if expected is None or actual is None or expected not in actual:
            lines.append(f"step {number} {program.steps[number]}: {actual} for {expected}")
    return lines[:1]


def _variable(number: int, expected: Tensor, actual: Any) -> list[str]:
    pairs = [("values", expected.view.tolist(), actual.tolist())]
    if isinstance(actual, torch.Tensor):
        pairs += [
            ("device", expected.space, str(actual.device)),
            ("dtype", f"torch.{expected.dtype}", str(actual.dtype)),
            ("shape", expected.sizes, tuple(actual.shape)),
            ("strides", expected.strides, actual.stride()),
            ("offset", expected.offset, actual.storage_offset()),
            ("pinned", expected.storage.memory.pinned, actual.is_pinned()),
            ("is_cuda", expected.space != "cpu", actual.is_cuda),
        ]
    return [f"v{number} {what} {mine} for {model}" for what, model, mine in pairs if model != mine]


def _range(value: Any) -> tuple[int, int]:
    if isinstance(value, np.ndarray):
        start, stop = np.lib.array_utils.byte_bounds(value)
        return start, stop
    storage = value.untyped_storage()
    return storage.data_ptr(), storage.data_ptr() + storage.nbytes()


def _groups(values: Sequence[Any]) -> list[int]:
    """Gives values that share memory the same number."""
    ranges = sorted({_range(value) for value in values})
    starts: list[int] = []
    end = 0
    for start, stop in ranges:
        starts.append(start if start >= end else starts[-1])
        end = max(end, stop)
    first = dict(zip(ranges, starts, strict=True))
    return [first[_range(value)] for value in values]


def _partition(what: str, expected: Any, actual: Any) -> list[str]:
    mine, model = _first_places(list(actual)), _first_places(list(expected))
    return [
        f"v{n} {what} of v{a} for v{e}" for n, (a, e) in enumerate(zip(mine, model, strict=True)) if a != e
    ]


def _first_places(keys: Sequence[Hashable]) -> list[int]:
    return [keys.index(key) for key in keys]

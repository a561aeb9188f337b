"""Every name that Ascend's table serves is used once on the real torch_npu, or has a reason why not."""

from __future__ import annotations

import ast
import builtins
import pathlib
import tomllib
from typing import Any

import pytest
import torch

from morph import surfaces
from morph.aliases import table
from morph.aliases.table import Status

EXERCISES: dict[str, dict[str, str]] = tomllib.loads(
    pathlib.Path(__file__).with_name("exercises.toml").read_text(encoding="utf-8")
)


@pytest.mark.platforms("npu")
@pytest.mark.parametrize("name", sorted(EXERCISES["uses"]))
def test_the_name_works_on_the_real_package(name: str) -> None:
    source = EXERCISES["uses"][name]
    names: dict[str, Any] = {
        "torch": torch,
        "pytest": pytest,
        "__name__": "__main__",
        "__builtins__": builtins,
    }
    if _is_expression(source):
        assert eval(source, names), source
    else:
        exec(source, names)


@pytest.mark.platforms("npu")
@pytest.mark.parametrize("submodule", sorted(EXERCISES["aliases"]))
def test_a_name_of_a_submodule_is_the_name_above(submodule: str) -> None:
    names = [name for name in _served() if name.startswith(f"{submodule}.") and _alias(name) != name]
    different = [name for name in names if _resolve(name) is not _resolve(_alias(name))]
    assert different == []


@pytest.mark.platforms("npu")
def test_every_name_is_exercised_or_has_a_reason() -> None:
    tried = {*EXERCISES["uses"], *EXERCISES["untried"]}
    served = {_alias(name) for name in _served()}
    untouched, unknown = sorted(served - tried), sorted(tried - served)
    assert (untouched, unknown) == ([], [])


def _served() -> set[str]:
    """Returns the CUDA names that are neither missing on Ascend nor decided by the row of their module."""
    npu = table.load("npu")
    rows = {row.name for row in npu.rows.values() if row.status is not Status.MISSING}
    cuda = surfaces.load("torch_cuda-2.13.0")
    names = (name for name in cuda.names - cuda.modules if name.startswith("torch.cuda."))
    return rows | {name for name in names if npu.row(name) is None}


def _alias(name: str) -> str:
    """Returns the shorter name of what a submodule and the module above it both have."""
    submodule, _, last = name.rpartition(".")
    shorter = f"{EXERCISES['aliases'].get(submodule, submodule)}.{last}"
    return shorter if shorter in EXERCISES["uses"] or shorter in EXERCISES["untried"] else name


def _resolve(name: str) -> Any:
    value: Any = torch
    for part in name.split(".")[1:]:
        value = getattr(value, part)
    return value


def _is_expression(source: str) -> bool:
    try:
        ast.parse(source, mode="eval")
    except SyntaxError:
        return False
    return True

"""Every public name of apex is classified, and its presence and signature match its class."""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import Any

import pytest
import torch

from morph.backends.tables import package
from morph.backends.tables.rows import Row, Status
from morph.base.errors import MissingNameError

pytestmark = pytest.mark.platforms("cpu")

APEX = package.load("apex")
NAMES = APEX.names
WIDER = {"apex.parallel.sync_batchnorm.SyncBatchNorm"}
"""Accepts the arguments of the other `SyncBatchNorm` too."""


def row(name: str) -> Row | None:
    return APEX.missing(name) or APEX.row(name)


@functools.cache
def of(status: Status) -> set[str]:
    return {name for name in NAMES if (found := row(name)) is not None and found.status is status}


@functools.cache
def resolve(name: str) -> Any:
    """Return the object of a dotted name, importing modules as far as there are any."""
    owner, _, last = name.rpartition(".")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        if not owner:
            raise
        return getattr(resolve(owner), last)


def resolves(name: str) -> bool:
    try:
        resolve(name)
    except (ImportError, AttributeError):
        return False
    return True


def test_every_name_is_classified() -> None:
    assert of(Status.EMULATED) | of(Status.NOOP) | of(Status.MISSING) == set(NAMES)
    assert len(NAMES) > 1500


def test_served_names_are_there() -> None:
    assert not {name for name in of(Status.EMULATED) | of(Status.NOOP) if not resolves(name)}


def test_missing_names_are_not() -> None:
    assert not {name for name in of(Status.MISSING) if resolves(name)}


def test_every_row_is_of_a_name() -> None:
    patterns = {key: key.removesuffix("*") for key in APEX.rows}
    needless = {
        key
        for key, start in patterns.items()
        if not any(name.startswith(start) if key.endswith("*") else name == start for name in NAMES)
    }
    assert not needless


def test_served_top_level_modules_are_imported_by_their_names() -> None:
    top_level = {name for name in NAMES if "." not in name}
    assert set(APEX.import_names) == top_level - of(Status.MISSING)


def test_signatures_are_apexs() -> None:
    recorded = {name: text for name, text in NAMES.items() if text.startswith("(")}
    served = (of(Status.EMULATED) | of(Status.NOOP)) & set(recorded) - WIDER
    differing = {name for name in served if shape(resolve(name)) != shape(declared(recorded[name]))}
    assert not differing
    assert len(served) > 280


def declared(signature: str) -> Any:
    """Return a function with a recorded signature, whose defaults are evaluated."""
    from apex.optimizers.fused_sgd import required
    from apex.transformer.enums import ModelType

    names = {
        "torch": torch,
        "init": torch.nn.init,
        "required": required,
        "ModelType": ModelType,
        "DistributedDataParallel": torch.nn.parallel.DistributedDataParallel,
    }
    return eval(f"lambda {signature[1:-1]}: None", names)


def shape(function: Any) -> list[tuple[Any, ...]]:
    parameters = inspect.signature(function).parameters.values()
    return [(each.name, each.kind, each.default) for each in parameters]


def test_what_is_missing_says_why() -> None:
    import apex

    with pytest.raises(MissingNameError, match=r"apex\.RNN.*apex removed it in 2025; use torch\.nn\.LSTM"):
        _ = apex.RNN
    with pytest.raises(ModuleNotFoundError, match=r"apex\.pyprof.*use torch\.profiler"):
        import apex.pyprof
    with pytest.raises(ImportError, match=r"scale_check_overflow_python.*use amp_C\.multi_tensor_scale"):
        from apex.amp.scaler import scale_check_overflow_python  # noqa: F401
    with pytest.raises(AttributeError, match="has no attribute 'FusedAdams'"):
        _ = apex.optimizers.FusedAdams

"""Every public name of flash_attn is classified, and its presence and signature match its class."""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import Any

import pytest
import torch

from morph.errors import MissingNameError
from morph.tables import interfaces, package
from morph.tables.rows import Row, Status

pytestmark = pytest.mark.platforms("cpu")

FLASH_ATTN = package.load("flash_attn")
NAMES = FLASH_ATTN.names
WIDER = {
    "flash_attn.flash_attn_interface._torch_custom_op_wrapper",
    "flash_attn.flash_attn_interface._torch_register_fake_wrapper",
    "flash_attn_interface._flash_attn_backward_fake",
    "flash_attn_interface._flash_attn_forward_fake",
}
"""Functions of torch, which have gained arguments, or functions that only torch calls."""


def row(name: str) -> Row | None:
    return FLASH_ATTN.missing(name) or FLASH_ATTN.row(name)


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
    assert of(Status.EMULATED) | of(Status.MISSING) == set(NAMES)
    assert len(NAMES) > 1200


def test_served_names_are_there() -> None:
    assert not {name for name in of(Status.EMULATED) if not resolves(name)}


def test_missing_names_are_not() -> None:
    assert not {name for name in of(Status.MISSING) if resolves(name)}


def test_every_row_is_of_a_name() -> None:
    patterns = {key: key.removesuffix("*") for key in FLASH_ATTN.rows}
    needless = {
        key
        for key, start in patterns.items()
        if not any(name.startswith(start) if key.endswith("*") else name == start for name in NAMES)
    }
    assert not needless


def test_served_top_level_modules_are_imported_by_their_names() -> None:
    top_level = {name for name in NAMES if "." not in name}
    assert set(FLASH_ATTN.import_names) == top_level - of(Status.MISSING)


def test_signatures_are_flash_attns() -> None:
    recorded = {name: text for name, text in NAMES.items() if text.startswith("(")}
    served = of(Status.EMULATED) & set(recorded) - WIDER
    differing = {name for name in served if shape(resolve(name)) != shape(declared(recorded[name]))}
    assert not differing
    assert len(served) > 110


def declared(signature: str) -> Any:
    """Return a function with a recorded signature, whose defaults are evaluated."""
    names = {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, "partial": functools.partial}
    return eval(f"lambda {signature[1:-1]}: None", names)


def shape(function: Any) -> list[tuple[Any, ...]]:
    function = getattr(function, "_init_fn", function)
    if isinstance(function, torch._ops.OpOverloadPacket):  # upstream's: the operator's function
        name = function._qualified_op_name.removeprefix("flash_attn::")
        function = getattr(resolve("flash_attn.flash_attn_interface"), name)._init_fn
    parameters = inspect.signature(function).parameters.values()
    return [(each.name, each.kind, each.default) for each in parameters]


def test_nearly_all_that_projects_use_works() -> None:
    """Names of older releases are few, and projects that use them try others too."""
    files = {
        name: count for name, count in interfaces.usage().items() if interfaces.of(name).name == "flash_attn"
    }
    older = {"flash_attn.flash_attn_interface.flash_attn_cuda"}  # in flash_attn 2.6
    unknown = {name for name in files if name not in NAMES and not resolves(name)}
    assert unknown == older
    working = sum(count for name, count in files.items() if name not in older and resolves(name))
    assert working / sum(count for name, count in files.items() if name not in older) >= 0.99
    assert working / sum(files.values()) >= 0.97


def test_what_is_missing_says_why() -> None:
    import flash_attn.cute

    with pytest.raises(MissingNameError, match=r"pipeline.*use flash_attn\.cute\.flash_attn_func"):
        _ = flash_attn.cute.pipeline
    with pytest.raises(ModuleNotFoundError, match=r"flash_attn\.models.*use transformers"):
        import flash_attn.models.gpt
    with pytest.raises(ImportError, match=r"rotary_kernel.*use apply_rotary"):
        from flash_attn.ops.triton.rotary import rotary_kernel  # noqa: F401
    with pytest.raises(AttributeError, match="has no attribute 'flash_attn_fun'"):
        _ = flash_attn.flash_attn_fun

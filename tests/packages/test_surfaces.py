"""The recorded names of every served package are classified, and their presence and signatures match."""

import dataclasses
import functools
import importlib
import inspect
from typing import Any

import pytest
import torch

from morph.backends.tables import interfaces, package
from morph.backends.tables.rows import Row, Status
from morph.base.errors import MissingNameError
from tests.worker import Worker

pytestmark = pytest.mark.platforms("cpu")


@dataclasses.dataclass(frozen=True)
class Recorded:
    """What is recorded of a package.

    Attributes:
        names: The least number of its names.
        signatures: The least number of served functions whose signatures are recorded.
        wider: Functions that accept more: torch's own, or for torch only.
        older: Names that projects use, of releases before the one that is served.
    """

    names: int
    signatures: int = 0
    wider: frozenset[str] = frozenset()
    older: frozenset[str] = frozenset()


PACKAGES = {
    "apex": Recorded(
        1500,
        140,
        wider=frozenset(
            {
                "apex.fp16_utils.fp16util.tofp16",
                "apex.fp16_utils.tofp16",
                "apex.parallel.sync_batchnorm.SyncBatchNorm",
            }
        ),
    ),
    "flash_attn": Recorded(
        1200,
        109,
        wider=frozenset(
            {
                "flash_attn.flash_attn_interface._torch_custom_op_wrapper",
                "flash_attn.flash_attn_interface._torch_register_fake_wrapper",
                "flash_attn_interface._flash_attn_backward_fake",
                "flash_attn_interface._flash_attn_forward_fake",
            }
        ),
        older=frozenset({"flash_attn.flash_attn_interface.flash_attn_cuda"}),  # in flash_attn 2.6
    ),
    "pynvml": Recorded(2400),
    "xformers": Recorded(30),
}
REFUSALS = (
    ("import apex; apex.RNN", MissingNameError, r"apex\.RNN.*apex removed it in 2025; use torch\.nn\.LSTM"),
    ("import apex.pyprof", ModuleNotFoundError, r"apex\.pyprof.*use torch\.profiler"),
    ("import apex.mlp", ModuleNotFoundError, r"apex\.mlp.*use torch\.nn\.Sequential"),
    (
        "from apex.contrib.focal_loss import focal_loss",
        ImportError,
        r"use torchvision\.ops\.sigmoid_focal_loss",
    ),
    ("import apex; apex.optimizers.FusedAdams", AttributeError, "has no attribute 'FusedAdams'"),
    (
        "import flash_attn.cute; flash_attn.cute.pipeline",
        MissingNameError,
        r"pipeline.*use flash_attn\.cute\.flash_attn_func",
    ),
    ("import flash_attn.models.gpt", ModuleNotFoundError, r"flash_attn\.models.*use transformers"),
    (
        "from flash_attn.ops.triton.rotary import rotary_kernel",
        ImportError,
        r"rotary_kernel.*use apply_rotary",
    ),
    ("import flash_attn; flash_attn.flash_attn_fun", AttributeError, "has no attribute 'flash_attn_fun'"),
    ("import xformers.factory", ModuleNotFoundError, r"removed by upstream; use torch\.nn\.Transformer"),
)
each_package = pytest.mark.parametrize("name", PACKAGES)


@pytest.fixture(autouse=True)
def everywhere(worker: Worker) -> None:
    """Adds the worker to the fixtures of every test, which makes the test run in it."""


def row(name: str) -> Row | None:
    served = package.load(interfaces.of(name).name)
    return served.missing(name) or served.row(name)


@functools.cache
def by_status(package_name: str) -> dict[Status | None, set[str]]:
    """Returns the recorded names of a package by their status; None for those without."""
    found: dict[Status | None, set[str]] = {}
    for name in package.load(package_name).names:
        known = row(name)
        found.setdefault(known and known.status, set()).add(name)
    return found


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


def served(name: str) -> set[str]:
    """Returns the recorded names of a package that are not missing."""
    return {
        each for status, names in by_status(name).items() if status is not Status.MISSING for each in names
    }


@each_package
def test_every_name_is_classified(name: str) -> None:
    assert not by_status(name).get(None)
    assert len(package.load(name).names) > PACKAGES[name].names


@each_package
def test_served_names_are_there_and_missing_ones_are_not(name: str) -> None:
    assert not {each for each in served(name) if not resolves(each)}
    if name != "pynvml":  # whose functions are all there, and raise NVMLError_NotSupported
        assert not {each for each in by_status(name).get(Status.MISSING, ()) if resolves(each)}


@pytest.mark.parametrize("name", ["apex", "flash_attn"])
def test_every_row_is_of_a_name(name: str) -> None:
    this = package.load(name)
    starts = {key: key.removesuffix("*") for key in this.rows}
    assert not {
        key
        for key, start in starts.items()
        if not any(each.startswith(start) if key.endswith("*") else each == start for each in this.names)
    }
    top_level = {each for each in this.names if "." not in each}
    assert set(this.import_names) == top_level - by_status(name).get(Status.MISSING, set())


@pytest.mark.parametrize("name", [name for name, recorded in PACKAGES.items() if recorded.signatures])
def test_signatures_are_as_recorded(name: str) -> None:
    texts = {each: text for each, text in package.load(name).names.items() if text.startswith("(")}
    compared = served(name) & set(texts) - PACKAGES[name].wider
    assert not {each for each in compared if shape(resolve(each)) != shape(declared(texts[each]))}
    assert len(compared) > PACKAGES[name].signatures


def declared(signature: str) -> Any:
    """Return a function with a recorded signature, whose defaults are evaluated."""
    from torch.optim.optimizer import required

    names = {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, "init": torch.nn.init}
    more = {"partial": functools.partial, "required": required}
    return eval(f"lambda {signature[1:-1]}: None", {**names, **more})


def shape(function: Any) -> list[tuple[Any, ...]]:
    function = getattr(function, "_init_fn", function)
    if isinstance(function, torch._ops.OpOverloadPacket):  # upstream's: the operator's function
        name = function._qualified_op_name.removeprefix("flash_attn::")
        function = getattr(resolve("flash_attn.flash_attn_interface"), name)._init_fn
    parameters = inspect.signature(function).parameters.values()
    return [(each.name, each.kind, each.default) for each in parameters]


@pytest.mark.parametrize("name", ["apex", "flash_attn"])
def test_nearly_all_that_projects_use_works(name: str) -> None:
    """Names of older releases are few, and projects that use them try others too."""
    files = {each: count for each, count in interfaces.usage().items() if interfaces.of(each).name == name}
    older = PACKAGES[name].older
    recorded = package.load(name).names
    assert {each for each in files if each not in recorded and not resolves(each)} == older
    working = sum(count for each, count in files.items() if each not in older and resolves(each))
    assert working / sum(count for each, count in files.items() if each not in older) >= 0.99
    assert working / sum(files.values()) >= 0.97


@pytest.mark.parametrize(("code", "error", "match"), REFUSALS)
def test_what_is_missing_says_why(code: str, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        exec(code, {"__name__": __name__})

"""The served modules behave as the modules whose place they take."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import inspect
import pickle
import pydoc
import sys
import types
from unittest import mock

import pytest
import torch

from tests.platforms import ACCELERATORS

SUBMODULES = [
    "amp",
    "amp.autocast_mode",
    "comm",
    "graphs",
    "memory",
    "nccl",
    "nvtx",
    "profiler",
    "random",
    "streams",
]


@pytest.mark.parametrize("name", SUBMODULES)
def test_every_spelling_leads_to_one_module(name: str) -> None:
    full = f"torch.cuda.{name}"
    module = importlib.import_module(full)
    assert module is sys.modules[full]
    parent, _, last = full.rpartition(".")
    assert getattr(importlib.import_module(parent), last) is module
    namespace: dict[str, object] = {}
    exec(f"import {full} as first\nfrom {parent} import {last} as second", namespace)
    assert namespace["first"] is namespace["second"] is module
    spec = importlib.util.find_spec(full)
    assert spec is not None
    assert spec is module.__spec__


def test_a_module_tells_of_itself_what_torchs_own_does() -> None:
    assert isinstance(torch.cuda, types.ModuleType)
    assert inspect.ismodule(torch.cuda)
    assert repr(torch.cuda).startswith("<module 'torch.cuda' from ")
    assert torch.cuda.__name__ == torch.cuda.__package__ == "torch.cuda"
    assert torch.cuda.__file__ is not None
    assert torch.cuda.__file__.endswith("__init__.py")
    assert type(torch.cuda.__loader__).__name__ == "SourceFileLoader"
    assert "torch.cuda" in pydoc.render_doc(torch.cuda)
    assert "def is_available" in inspect.getsource(torch.cuda)


def test_a_module_is_neither_copied_nor_pickled() -> None:
    for operation in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot pickle 'module' object"):
            operation(torch.cuda)


def test_a_function_is_copied_and_pickled_by_reference() -> None:
    for function in (torch.cuda.is_available, torch.cuda.get_device_name, torch.cuda.synchronize):
        assert copy.deepcopy(function) is function
        assert pickle.loads(pickle.dumps(function)) is function


def test_reloading_leaves_the_module_served() -> None:
    assert importlib.reload(torch.cuda) is torch.cuda
    assert torch.cuda.is_available()


def test_a_name_can_be_replaced_and_put_back() -> None:
    own = torch.cuda.is_available
    with mock.patch("torch.cuda.is_available", return_value=False):
        assert not torch.cuda.is_available()
    assert torch.cuda.is_available is own
    torch.cuda.morphs_own_test = 1  # type: ignore[attr-defined]
    assert vars(torch.cuda)["morphs_own_test"] == 1
    del torch.cuda.morphs_own_test  # type: ignore[attr-defined]
    assert not hasattr(torch.cuda, "morphs_own_test")


@pytest.mark.platforms(*ACCELERATORS)
def test_what_is_missing_is_an_attribute_error_by_name() -> None:
    assert not hasattr(torch.cuda, "tunable")
    assert getattr(torch.cuda, "gds", None) is None
    with pytest.raises(
        AttributeError, match=r"^torch\.cuda\.tunable does not exist on backend '\w+': it tunes "
    ):
        torch.cuda.tunable  # noqa: B018
    with pytest.raises(AttributeError, match="no_such_name_anywhere"):
        torch.cuda.no_such_name_anywhere  # type: ignore[attr-defined]  # noqa: B018


def test_a_star_import_takes_what_is_there() -> None:
    namespace: dict[str, object] = {}
    exec("from torch.cuda import *", namespace)
    assert namespace["synchronize"] is torch.cuda.synchronize
    assert all(hasattr(torch.cuda, name) for name in torch.cuda.__all__)
    assert set(dir(torch.cuda)) >= {"synchronize", "is_available", "amp"}


def ask(module: str) -> tuple[bool, int, str | None]:
    """Ask as the code of ``module`` would."""
    namespace = {"__name__": module, "torch": torch}
    exec("answer = torch.cuda.is_available(), torch.cuda.device_count(), torch.version.cuda", namespace)
    answer: tuple[bool, int, str | None] = namespace["answer"]  # type: ignore[assignment]
    return answer


@pytest.mark.parametrize("module", ["__main__", "mytrainer.train", "notebook", ""])
def test_code_written_for_cuda_sees_cuda(module: str) -> None:
    available, count, version = ask(module)
    assert available
    assert count >= 1
    assert version is not None


@pytest.mark.platforms(*ACCELERATORS)
@pytest.mark.parametrize("module", ["torch", "torch._inductor.utils", "torch.nn.parallel.data_parallel"])
def test_torch_itself_is_told_the_truth(module: str) -> None:
    assert ask(module) == (False, 0, None)

"""The served modules behave like the modules they replace."""

import copy
import importlib
import importlib.util
import inspect
import pickle
import pydoc
import sys
import types
import unittest
from typing import Any
from unittest import mock

import pytest
import torch

from morph.backends import active
from morph.backends.tables.rows import Status
from morph.base.errors import MissingNameError
from tests.platforms import ACCELERATORS

SUBMODULES = [
    "amp",
    "amp.autocast_mode",
    "amp.grad_scaler",
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


def test_a_module_is_not_copied() -> None:
    for operation in (copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot pickle 'module' object"):
            operation(torch.cuda)


@pytest.mark.parametrize("name", ["cloudpickle", "dill"])
def test_a_module_is_pickled_by_name(name: str) -> None:
    library = pytest.importorskip(name)
    for module in (torch.cuda, torch.cuda.amp, torch.cuda.memory):
        written = library.dumps(module)
        assert library.loads(written) is module
        assert b"morph" not in written


@pytest.mark.parametrize("name", ["cloudpickle", "dill"])
def test_a_function_that_speaks_of_cuda_is_pickled(name: str) -> None:
    library = pytest.importorskip(name)
    namespace: dict[str, Any] = {"torch": torch, "__name__": "__main__"}
    code = """def on_gpu(x): return x.device.type == "cuda", torch.cuda.device_count()"""
    exec(compile(code, "<test>", "exec"), namespace)
    written = library.dumps(namespace["on_gpu"])
    assert library.loads(written)(torch.ones(1).cuda()) == (True, 2)
    assert b"morph" not in written


@pytest.mark.platforms(*ACCELERATORS)
def test_a_missing_name_is_imported_and_refused_when_it_is_used() -> None:
    backend = active()
    assert backend is not None
    tried = 0
    for row in backend.table.rows.values():
        module, _, name = row.name.rpartition(".")
        own = inspect.getattr_static(getattr(sys.modules.get(module), "__wrapped__", None), name, None)
        if row.status is not Status.MISSING or not callable(own):
            continue
        tried += 1
        assert not hasattr(sys.modules[module], name)
        namespace: dict[str, Any] = {}
        exec(f"from {module} import {name} as first\nfrom {module} import {name} as second", namespace)
        found = namespace["first"]
        assert found is namespace["second"] is not own
        assert found.__name__ == own.__name__
        assert not isinstance(found, type) or not isinstance(1, found)
        with pytest.raises(MissingNameError, match=f"{name} does not exist on backend"):
            found()
        assert not hasattr(sys.modules[module], name)
        with pytest.raises(MissingNameError):
            getattr(sys.modules[module], name)
    assert tried > 0


@pytest.mark.platforms("simulated-npu")
def test_torch_s_own_tests_are_told_of_all_names() -> None:
    assert importlib.import_module("torch.testing._internal.common_methods_invocations").op_db


@pytest.mark.platforms("simulated-npu")
def test_torch_s_compiler_compares_with_classes_that_are_missing() -> None:
    names = {"__name__": "torch._dynamo.variables.builder", "torch": torch}
    exec("found = isinstance(1, torch.cuda.GreenContext)", names)
    assert names["found"] is False
    with pytest.raises(AttributeError, match="does not exist on backend"):
        torch.cuda.GreenContext  # noqa: B018


def test_torch_s_test_support_makes_tests_for_cuda() -> None:
    pytest.importorskip("expecttest", reason="torch's own tests need it")
    from torch.testing._internal import common_device_type, common_utils

    class TestOne(common_utils.TestCase):  # type: ignore[misc]
        def test_sum(self, device: str) -> None:
            torch.testing.assert_close(torch.ones(3, device=device), torch.ones(3, device="cuda"))

    made: dict[str, Any] = {"TestOne": TestOne}
    common_device_type.instantiate_device_type_tests(TestOne, made, only_for="cuda")
    assert common_utils.TEST_CUDA
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(made["TestOneCUDA"]).run(result)
    assert result.testsRun == 1
    assert result.wasSuccessful(), result


def test_a_function_is_copied_and_pickled_by_reference() -> None:
    for function in (torch.cuda.is_available, torch.cuda.get_device_name, torch.cuda.synchronize):
        assert copy.deepcopy(function) is function
        assert pickle.loads(pickle.dumps(function)) is function


def test_reloading_leaves_the_module_served() -> None:
    before = {**vars(torch.cuda)}
    assert importlib.reload(torch.cuda) is torch.cuda
    assert torch.cuda.is_available()
    vars(torch.cuda).update(before)  # Dynamo knows torch's own functions by identity and traces no new ones


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
    assert set(dir(torch.cuda)) >= {"synchronize", "is_available", "amp", "Stream", "Event", "CUDAGraph"}

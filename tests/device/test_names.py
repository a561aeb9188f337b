"""Names: every spelling leads to one object, and a name that the backend lacks raises an error naming it."""

from __future__ import annotations

import importlib
import inspect
import sys

import pytest
import torch
import torch.cuda.amp

from tests.platforms import ACCELERATORS, Platform

# tools that describe a vendor's devices where its package does not
TOOLS = {"npu": "npu-smi", "musa": "pymtml"}


def test_an_adapted_function_looks_as_cudas_own() -> None:
    function = torch.cuda.get_device_properties
    assert (function.__name__, function.__module__) == ("get_device_properties", "torch.cuda")
    assert list(inspect.signature(function).parameters) == ["device"]
    assert function.__doc__
    assert "Get the properties of a device" in function.__doc__


@pytest.mark.platforms(*(f"simulated-{backend}" for backend in TOOLS))
def test_a_reading_that_nobody_tells_says_where_else_to_look(platform: Platform) -> None:
    own = platform.backend
    with pytest.raises(ModuleNotFoundError, match=rf"^torch\.cuda\.temperature cannot tell.*{TOOLS[own]}"):
        torch.cuda.temperature()


@pytest.mark.platforms(*ACCELERATORS)
@pytest.mark.parametrize("name", ["gds", "green_contexts", "jiterator", "tunable"])
def test_a_submodule_that_the_vendor_lacks_is_imported_and_has_no_names(name: str) -> None:
    module = importlib.import_module(f"torch.cuda.{name}")
    assert not hasattr(torch.cuda, name)
    assert [each for each in module.__all__ if hasattr(module, each)] == []


@pytest.mark.platforms(*ACCELERATORS)
def test_member_names_are_the_vendors_own_under_cudas_name(platform: Platform) -> None:
    stream, event, own = torch.cuda.Stream(), torch.cuda.Event(), platform.device_type
    names = ("sycl_queue", "sycl_event") if own == "xpu" else (f"{own}_stream", f"{own}_event")
    event.record(stream)
    assert stream.cuda_stream == getattr(stream, names[0])
    assert event.cuda_event == getattr(event, names[1])
    assert isinstance(stream.record_event(), torch.cuda.Event)


@pytest.mark.platforms("npu", "simulated-npu", "simulated-xpu")
def test_a_parameter_that_the_vendor_cannot_honour_is_refused_by_name() -> None:
    with pytest.raises(AttributeError, match=r"torch\.cuda\.Event\(external=True\) does not exist"):
        torch.cuda.Event(external=True)


def test_error_classes_are_those_that_are_raised() -> None:
    assert issubclass(torch.cuda.OutOfMemoryError, RuntimeError)
    assert torch.cuda.OutOfMemoryError is torch.OutOfMemoryError
    assert torch.cuda.AcceleratorError is torch.AcceleratorError


@pytest.mark.platforms("npu")
def test_asking_for_a_name_that_is_not_there_runs_no_module_again() -> None:
    before = set(sys.modules)
    assert not hasattr(torch.cuda.memory, "_no_such_name")
    assert not hasattr(torch.cuda.amp, "no_such_name")
    assert torch.cuda.memory.memory_stats is torch.cuda.memory_stats is torch.npu.memory_stats
    assert set(sys.modules) == before

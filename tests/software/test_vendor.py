"""The simulated vendor module has the recorded names, with the recorded signatures, and no others."""

import importlib
import inspect
import re
import sys
from types import ModuleType
from typing import Any

import pytest
import torch

from morph import software
from morph.backends.tables import surfaces
from morph.backends.tables.surfaces import Surface
from morph.software.vendors.stand_ins import RefusingValue, parse_signature

pytestmark = pytest.mark.usefixtures("vendor_worker")
every_vendor = pytest.mark.parametrize(
    "machine", ["simulated-npu", "simulated-mlu", "simulated-musa"], indirect=True
)
as_an_npu = pytest.mark.parametrize("machine", ["simulated-npu"], indirect=True)


def recorded() -> Surface:
    return surfaces.load(software.started().facts.surface)


def bound(name: str) -> Any:
    """Returns the object that a dotted name refers to, without importing anything."""
    root, *path = name.split(".")
    value: Any = torch if root == "torch" else sys.modules[root]
    for part in path:
        value = getattr(value, part)
    return value


@every_vendor
def test_every_recorded_name_exists_and_no_other() -> None:
    surface = recorded()
    torch.ones(1, device=software.started().device_type)  # torch_musa binds some names then
    for name in surface.names:
        if name.endswith("_cached_device_count"):
            assert bound(name) in (None, software.started().count), "a number, once it was asked for"
        else:
            assert bound(name) is not None
    for module in surface.modules:
        unknown = [name for name in _contents(bound(module)) if f"{module}.{name}" not in surface.names]
        assert unknown == [], module
    with pytest.raises(AttributeError):
        bound(f"{surface.module}.tunable")


def _contents(module: Any) -> list[str]:
    """Returns the names in a module, except dunder attributes and submodules."""
    named = vars(module).items()
    return [name for name, value in named if name[:2] != "__" and not isinstance(value, ModuleType)]


@every_vendor
def test_signatures_are_the_recorded_ones() -> None:
    surface = recorded()
    different = {}
    for name in {*surface.functions, *surface.classes}:
        expected = surface.signature(name)
        if expected and not _agrees(inspect.signature(bound(name)), parse_signature(expected)):
            different[name] = (str(inspect.signature(bound(name))), expected)
    assert not different


def _agrees(actual: inspect.Signature, recorded: inspect.Signature) -> bool:
    return [_shape(each) for each in actual.parameters.values()] == [
        _shape(each) for each in recorded.parameters.values()
    ]


def _shape(parameter: inspect.Parameter) -> tuple[str, str, str]:
    return parameter.name, parameter.kind.name, re.sub(r"2\.0 ?\*\* ?16", "65536.0", str(parameter.default))


@every_vendor
def test_members_of_classes_exist() -> None:
    for name, row in recorded().classes.items():
        missing = [member for member in row.members if not hasattr(bound(name), member)]
        assert not missing, name


@as_an_npu
def test_what_is_not_simulated_says_so() -> None:
    with pytest.raises(
        software.NotSimulatedError, match="torch.npu.stress_detect exists on the real device, but"
    ):
        torch.npu.stress_detect()
    with pytest.raises(software.NotSimulatedError, match="torch.npu.aclnn.allow_hf32"):
        torch.npu.aclnn.allow_hf32()
    assert isinstance(torch.npu.aclnn.allow_hf32, RefusingValue)


@as_an_npu
def test_submodules_are_importable_and_one() -> None:
    assert importlib.import_module("torch.npu.amp.grad_scaler").GradScaler is torch.npu.amp.GradScaler
    assert sys.modules["torch.npu.memory"] is torch.npu.memory
    assert torch.get_device_module("npu") is torch.npu


@as_an_npu
def test_the_package_says_that_it_is_simulated() -> None:
    package: Any = importlib.import_module("torch_npu")
    assert package.npu is torch.npu
    assert package.__version__ == "2.13.0+simulated"
    assert "simulated" in package.__doc__
    assert not hasattr(package, "npu_format_cast")


@as_an_npu
def test_starting_again_is_starting_once() -> None:
    assert software.start("npu") is torch.npu
    with pytest.raises(software.SimulatorError, match="simulates npu already"):
        software.start("cpu")


@as_an_npu
def test_quirks_of_torch_npu() -> None:
    assert torch.npu.get_device_name(device_name=1) == "Ascend910B1"
    assert torch.npu.get_device_capability() is None
    properties = torch.npu.get_device_properties(0)
    assert (properties.name, properties.vector_core_num, properties.warp_size) == ("Ascend910B1", 48, None)
    with pytest.raises(TypeError):
        torch.npu.get_device_name(device=0)
    with pytest.raises(AssertionError, match="Invalid device id"):
        torch.npu.get_device_name(5)


@as_an_npu
def test_older_types_are_the_devices() -> None:
    tensor = torch.npu.FloatTensor([1, 2])
    assert tensor.type() == "torch.npu.FloatTensor"
    assert isinstance(tensor, torch.npu.FloatTensor)
    assert not isinstance(tensor.cpu(), torch.npu.FloatTensor)
    assert tensor.type(torch.npu.HalfTensor).dtype is torch.float16
    assert repr(torch.npu.FloatTensor) == "<class 'torch.npu.FloatTensor'>"

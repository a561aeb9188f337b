"""The simulated vendor module has the recorded names, with the recorded signatures, and no others."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from typing import Any

import pytest
import torch

from morph import simulator, surfaces
from morph.backends import resolve
from morph.simulator.vendor import RefusingValue, parse_signature

pytestmark = [
    pytest.mark.usefixtures("vendor_worker"),
    pytest.mark.parametrize("machine", ["simulated"], indirect=True),
]
SURFACE = "torch_npu-2.13.0"


def test_every_recorded_name_exists_and_no_other() -> None:
    surface = surfaces.load(SURFACE)
    for name in surface.names:
        assert resolve(name) is not None or name.endswith("_cached_device_count")
    for module in surface.modules:
        names = {f"{module}.{name}" for name in vars(resolve(module)) if not re.fullmatch(r"__\w+__", name)}
        assert names <= surface.names
    with pytest.raises(AttributeError):
        torch.npu.get_arch_list  # noqa: B018


def test_signatures_are_the_recorded_ones() -> None:
    surface = surfaces.load(SURFACE)
    different = {}
    for name in {*surface.functions, *surface.classes}:
        recorded = surface.signature(name)
        if recorded and not _agrees(inspect.signature(resolve(name)), parse_signature(recorded)):
            different[name] = (str(inspect.signature(resolve(name))), recorded)
    assert not different


def _agrees(actual: inspect.Signature, recorded: inspect.Signature) -> bool:
    return [_shape(each) for each in actual.parameters.values()] == [
        _shape(each) for each in recorded.parameters.values()
    ]


def _shape(parameter: inspect.Parameter) -> tuple[str, str, str]:
    return parameter.name, parameter.kind.name, re.sub(r"2\.0 ?\*\* ?16", "65536.0", str(parameter.default))


def test_members_of_classes_exist() -> None:
    surface = surfaces.load(SURFACE)
    for name, row in surface.classes.items():
        missing = [member for member in row.members if not hasattr(resolve(name), member)]
        assert not missing, name


def test_what_is_not_simulated_says_so() -> None:
    with pytest.raises(
        simulator.NotSimulatedError, match="torch.npu.stress_detect exists on the real device, but"
    ):
        torch.npu.stress_detect()
    with pytest.raises(simulator.NotSimulatedError, match="torch.npu.MemPool"):
        torch.npu.MemPool()
    with pytest.raises(simulator.NotSimulatedError, match="torch.npu.aclnn.allow_hf32"):
        torch.npu.aclnn.allow_hf32()
    assert isinstance(torch.npu.aclnn.allow_hf32, RefusingValue)


def test_submodules_are_importable_and_one() -> None:
    assert importlib.import_module("torch.npu.amp.grad_scaler").GradScaler is torch.npu.amp.GradScaler
    assert sys.modules["torch.npu.memory"] is torch.npu.memory
    assert torch.get_device_module("npu") is torch.npu


def test_the_package_says_that_it_is_simulated() -> None:
    package: Any = importlib.import_module("torch_npu")
    assert package.npu is torch.npu
    assert package.__version__ == "2.13.0+simulated"
    assert "simulated" in package.__doc__
    assert not hasattr(package, "npu_format_cast")


def test_starting_again_is_starting_once() -> None:
    assert simulator.start("npu") is torch.npu
    with pytest.raises(simulator.SimulatorError, match="simulates npu already"):
        simulator.start("cpu")


def test_quirks_of_the_vendor() -> None:
    assert torch.npu.get_device_name(device_name=1) == "Ascend910B1"
    assert torch.npu.get_device_capability() is None
    properties = torch.npu.get_device_properties(0)
    assert (properties.name, properties.vector_core_num, properties.warp_size) == ("Ascend910B1", 48, None)
    with pytest.raises(TypeError):
        torch.npu.get_device_name(device=0)
    with pytest.raises(AssertionError, match="Invalid device id"):
        torch.npu.get_device_name(5)


def test_older_types_are_the_devices() -> None:
    tensor = torch.npu.FloatTensor([1, 2])
    assert tensor.type() == "torch.npu.FloatTensor"
    assert isinstance(tensor, torch.npu.FloatTensor)
    assert not isinstance(tensor.cpu(), torch.npu.FloatTensor)
    assert tensor.type(torch.npu.HalfTensor).dtype is torch.float16
    assert repr(torch.npu.FloatTensor) == "<class 'torch.npu.FloatTensor'>"

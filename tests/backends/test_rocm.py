"""What morph reads of a torch that is built for ROCm, or for XPU, is set by hand here."""

import pytest

from tests import origin
from tests.platforms import Platform

STAND_IN = """
import os, sys, torch
torch.version.hip, torch.version.cuda = "6.4.43482", None
torch.cuda.is_available = lambda: True
torch.cuda.device_count = lambda: 2
sys.modules["torch_npu"] = None  # as where no vendor's package is installed
import morph
"""

XPU = """
import sys, torch
torch.version.xpu = "20250302"
torch.xpu.device_count = lambda: 2
sys.modules["torch_npu"] = None
import morph
assert morph.activate().backend == "xpu"
assert torch.cuda.device_count() == 2 and torch.cuda.CUDAGraph is torch.xpu.XPUGraph
assert torch.cuda.ExternalStream.__mro__[1] is torch.xpu.Stream
"""

pytestmark = pytest.mark.platforms("cpu")


def test_a_stand_in_for_intels_gpus_is_chosen(platform: Platform) -> None:
    done = origin.run(platform, XPU, environment={"MORPH_SEAM": "python"})
    assert "morph: cuda is xpu (Intel GPU, 2 devices, without the native seam)" in done.stderr


def test_a_stand_in_for_rocm_is_chosen_and_not_taken_for_nvidia(platform: Platform) -> None:
    program = """
from morph.activation import choice
assert not choice.nvidia_works()
status = morph.activate()
assert (status.active, status.backend, status.device_type, status.seam) == (True, "rocm", "cuda", None)
"""
    done = origin.run(platform, STAND_IN + program)
    assert done.stderr.splitlines() == ["morph: cuda is rocm (AMD ROCm, 2 devices)"]


def test_nothing_of_torch_changes_on_a_stand_in_for_rocm(platform: Platform) -> None:
    program = """
def state():
    owners = torch, torch._C, torch.Tensor, torch.cuda, torch.distributed, torch.backends.cudnn, torch.storage
    others = {name: module for name, module in sys.modules.items() if name != "pynvml"}  # which is served
    served = {"MORPH_ANNOUNCED": "1", "MORPH_MACHINE": "", "PATH": ""}  # and nvidia-smi
    return [dict(vars(owner)) for owner in owners], others, os.environ | served

morph.activate("rocm"), morph.deactivate()  # which imports all of morph
before = state()
morph.activate("rocm")
assert state() == before
assert torch.device("cuda", 1).type == "cuda"
morph.deactivate()
assert morph.status().backend is None
"""
    origin.run(platform, STAND_IN + program, environment={"CUDA_VISIBLE_DEVICES": "0,1"})


@pytest.mark.parametrize("backend", ["rocm", "xpu"])
def test_a_device_that_torch_is_not_built_for_is_refused(platform: Platform, backend: str) -> None:
    program = f"import morph; morph.activate({backend!r})"
    done = origin.run(platform, program, check=False)
    assert f"backend '{backend}' cannot be used: this torch is not built for it" in done.stderr


def test_a_device_that_torch_is_not_built_for_is_passed_over_in_silence(platform: Platform) -> None:
    program = """
import sys
sys.modules["torch_npu"] = None
import morph
assert morph.activate().backend == "cpu"
"""
    done = origin.run(platform, program)
    assert done.stderr.splitlines() == ["morph: cuda is cpu (the CPU, 2 devices)"]

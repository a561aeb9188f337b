"""The published monitors gpustat and nvitop, unchanged, on the backend's devices."""

import json
import os
import pathlib
import re
import subprocess

import pytest

from tests import origin
from tests.platforms import Platform, complete, describe

RECORDED = pathlib.Path(__file__).parent.parent / "sensors" / "recorded"
TABLE_WIDTH = "120"
NVITOP = """
import runpy, sys, torch
kept = torch.ones(1 << 20, device="cuda")
sys.argv = ["nvitop", "-1", "--ascii"]
runpy.run_module("nvitop", run_name="__main__")
"""


@pytest.fixture(autouse=True)
def everywhere() -> None:
    """Keeps the tests of this file out of the worker: the monitors are programs of their own."""


def run(
    platform: Platform, *program: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    variables = {**platform.environment, "COLUMNS": TABLE_WIDTH, **(environment or {})}
    done = complete([*platform.command(morph=True), *program], env=variables, timeout=120)
    assert done.returncode == 0, describe(done)
    return done


def with_tool(folder: pathlib.Path, name: str, recorded: str) -> dict[str, str]:
    """Return an environment whose PATH has a tool that prints recorded output of the real one."""
    tool = folder / name
    tool.write_text(f"#!/bin/sh\ncat {RECORDED / recorded}\n")
    tool.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.needs("gpustat")
@pytest.mark.long
@pytest.mark.platforms("cpu", "npu")
def test_gpustat_shows_the_devices(platform: Platform) -> None:
    told = json.loads(run(platform, "-m", "gpustat", "--json").stdout)["gpus"]
    assert [gpu["index"] for gpu in told] == [0, 1]
    for gpu in told:
        assert gpu["name"].startswith("CPU: " if platform.name == "cpu" else "Ascend")
        assert gpu["memory.total"] > 1000
        assert 0 <= gpu["memory.used"] <= gpu["memory.total"]
        assert 0 <= gpu["utilization.gpu"] <= 100
        assert gpu["power.draw"] is None


@pytest.mark.needs("nvitop")
@pytest.mark.long
@pytest.mark.platforms("cpu", "npu")
def test_nvitop_shows_the_devices(platform: Platform) -> None:
    done = run(platform, "-c", NVITOP)
    assert len(re.findall(r"/ +[\d.]+[GM]iB \|", done.stdout)) == 2
    assert ("CPU: " if platform.name == "cpu" else "Ascend") in done.stdout
    assert "nvitop" in done.stdout.lower().splitlines()[2]
    if platform.name == "cpu":
        # a process that holds device memory is listed; its command may be cut
        assert re.search(r"^\|   0 +\d+ C ", done.stdout, re.MULTILINE), describe(done)


@pytest.mark.needs("gpustat")
@pytest.mark.platforms("simulated-npu")
def test_gpustat_shows_what_npu_smi_tells(platform: Platform, tmp_path: pathlib.Path) -> None:
    environment = with_tool(tmp_path, "npu-smi", "npu-smi-Ascend910.txt")
    told = json.loads(run(platform, "-m", "gpustat", "--json", environment=environment).stdout)
    assert told["driver_version"] == "25.2.3"
    keys = ("name", "temperature.gpu", "utilization.gpu", "power.draw", "memory.used", "memory.total")
    assert [tuple(gpu[key] for key in keys) for gpu in told["gpus"][:2]] == [
        ("Ascend910", 52, 17, 232, 53444, 65536),
        ("Ascend910", 51, 17, None, 52948, 65536),
    ]
    assert len(told["gpus"]) == 4
    assert len({gpu["uuid"] for gpu in told["gpus"]}) == 4


@pytest.mark.platforms("cpu")
@pytest.mark.needs("pynvml")
def test_torch_is_imported_by_opening_and_without_morph_sees_none_of_it(platform: Platform) -> None:
    program = """
import sys
import pynvml
assert "torch" not in sys.modules
pynvml.nvmlInit()
torch = sys.modules["torch"]
assert sys.modules["pynvml"] is pynvml and "aliases" in pynvml.__file__
assert torch.cuda.pynvml.nvmlInit is pynvml.nvmlInit
import morph
morph.deactivate()
import pynvml as nvidias
assert nvidias is vars(torch.cuda)["pynvml"] and nvidias is not pynvml
try:
    nvidias.nvmlInit()
except nvidias.NVMLError_LibraryNotFound:
    print("as without morph")
"""
    done = platform.run(program)
    assert done.stdout == "as without morph\n"
    assert done.stderr.splitlines()[0].startswith(
        "morph: nvidia-ml-py is installed but cannot load (libnvidia-ml"
    )


@pytest.mark.platforms("simulated-npu")
def test_torchs_own_sensors_tell_what_npu_smi_does(platform: Platform, tmp_path: pathlib.Path) -> None:
    program = """
import torch
cuda = torch.cuda
assert (cuda.temperature(), cuda.power_draw(0), cuda.temperature("cuda:1")) == (52, 232500, 51)
try:
    cuda.power_draw(1)
except AttributeError as error:
    assert "that of the board and reported for its first chip" in str(error), error
assert cuda.list_gpu_processes(1) == "GPU:1\\nprocess    3328327 uses    50119.000 MB GPU memory"
assert (cuda.temperature.__module__, cuda.temperature.__name__) == ("torch.cuda", "temperature")
"""
    environment = with_tool(tmp_path, "npu-smi", "npu-smi-Ascend910.txt")
    origin.run(platform, program, morph=True, environment=environment)


@pytest.mark.platforms("cpu")
def test_a_stand_in_for_rocm_reads_from_amd_smi_or_names_what_to_install(platform: Platform) -> None:
    program = """
import sys, torch
torch.version.hip, torch.version.cuda = "6.4.43482", None
torch.cuda.is_available = lambda: True
torch.cuda.device_count = lambda: 2
torch.cuda.get_device_capability = lambda index: (9, 4)
sys.modules["torch_npu"] = None  # as where no vendor's package is installed
import morph
morph.activate("rocm")
import pynvml
try:
    pynvml.nvmlInit()
except pynvml.NVMLError_LibraryNotFound as error:
    assert str(error) == "NVML Shared Library Not Found"
    assert "pip install 'torch-morph[rocm]'" in error.__notes__[0], error.__notes__
else:
    raise AssertionError
from tests.sensors import stand_in_amdsmi
sys.modules["amdsmi"] = stand_in_amdsmi
pynvml.nvmlInit()
handle = pynvml.nvmlDeviceGetHandleByPciBusId("0000:1c:00.0")
assert pynvml.nvmlDeviceGetIndex(handle) == 1
assert pynvml.nvmlDeviceGetName(handle) == "AMD Instinct MI300X"
assert pynvml.nvmlDeviceGetUUID(handle) == "GPU-29ff74a1-0000-1000-80ef-4e45e5c5d6d1"
assert pynvml.nvmlDeviceGetPowerUsage(handle) == 139000
assert pynvml.nvmlDeviceGetPowerManagementLimitConstraints(handle) == [0, 750000]
rates = pynvml.nvmlDeviceGetUtilizationRates(handle)
assert (rates.gpu, rates.memory) == (88, 31)
(process,) = pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
assert (process.pid, process.usedGpuMemory) == (4711, 1 << 33)
assert pynvml.nvmlDeviceGetCudaComputeCapability(handle) == (9, 4)
assert pynvml.nvmlSystemGetDriverVersion() == "6.12.12"
pci = pynvml.nvmlDeviceGetPciInfo(handle)
assert (pci.busId, pci.busIdLegacy, pci.bus) == ("00000000:1C:00.0", "0000:1C:00.0", 0x1C)
assert pynvml.nvmlDeviceGetTotalEccErrors(handle, 0, pynvml.NVML_VOLATILE_ECC) == 2
assert pynvml.nvmlDeviceGetTemperatureThreshold(handle, pynvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN) == 100
assert torch.cuda.__class__.__name__ == "module", "torch.cuda is torch's own on ROCm"
"""
    origin.run(platform, program)

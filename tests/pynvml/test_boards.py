"""The readings of devices that stand for a card: an idle board, the same through every interface."""

import pytest

from morph.software import cards
from tests.platforms import Platform, describe

pytestmark = pytest.mark.platforms("cpu")
NVIDIAS = [name for name in cards.names() if cards.load(name, "the test").backend == "cpu"]

ALIKE = """
import ctypes, subprocess, time, pynvml, torch

pynvml.nvmlInit()
handle = pynvml.nvmlDeviceGetHandleByIndex(1)
library = ctypes.CDLL("libnvidia-ml.so.1")
assert library.nvmlInit_v2() == 0
device = ctypes.c_void_p()
assert library.nvmlDeviceGetHandleByIndex_v2(1, ctypes.byref(device)) == 0

def read(name, *arguments, count=1):
    places = [ctypes.c_uint() for _ in range(count)]
    code = getattr(library, name)(device, *arguments, *map(ctypes.byref, places))
    found = [place.value for place in places]
    return code or (found[0] if count == 1 else found)

def query(fields):
    command = ["nvidia-smi", "-i", "1", "--format=csv,noheader,nounits", f"--query-gpu={fields}"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.strip().split(", ")

for name, arguments in (
    ("nvmlDeviceGetTemperature", [0]),
    ("nvmlDeviceGetTemperatureThreshold", [pynvml.NVML_TEMPERATURE_THRESHOLD_SHUTDOWN]),
    ("nvmlDeviceGetTemperatureThreshold", [pynvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN]),
    ("nvmlDeviceGetPowerUsage", []),
    ("nvmlDeviceGetPowerManagementLimit", []),
    ("nvmlDeviceGetPowerManagementDefaultLimit", []),
    ("nvmlDeviceGetPerformanceState", []),
    ("nvmlDeviceGetClockInfo", [pynvml.NVML_CLOCK_SM]),
    ("nvmlDeviceGetMaxClockInfo", [pynvml.NVML_CLOCK_MEM]),
    ("nvmlDeviceGetBrand", []),
    ("nvmlDeviceGetArchitecture", []),
    ("nvmlDeviceGetNumGpuCores", []),
    ("nvmlDeviceGetMaxPcieLinkGeneration", []),
    ("nvmlDeviceGetNvLinkVersion", [17]),
    ("nvmlDeviceGetNvLinkState", [17]),
    ("nvmlDeviceGetNvLinkRemoteDeviceType", [17]),
):
    own = getattr(pynvml, name)(handle, *arguments)
    assert own == read(name, *arguments), name
    print(name.removeprefix("nvmlDeviceGet"), own)
for name in ("nvmlDeviceGetMigMode", "nvmlDeviceGetEccMode", "nvmlDeviceGetPowerManagementLimitConstraints"):
    assert getattr(pynvml, name)(handle) == read(name, count=2), name
assert torch.cuda.temperature(1) == int(query("temperature.gpu")[0]) == read("nvmlDeviceGetTemperature", 0)
assert torch.cuda.power_draw(1) == float(query("power.draw")[0]) * 1000 == read("nvmlDeviceGetPowerUsage")
assert torch.cuda.clock_rate(1) == int(query("clocks.sm")[0]) == read("nvmlDeviceGetClockInfo", 1)
print(query("pstate,serial,power.limit,mig.mode.current,pcie.link.gen.max,ecc.mode.current"))
serial, part = (ctypes.create_string_buffer(64) for _ in range(2))
assert library.nvmlDeviceGetSerial(device, serial, 64) == 0
assert library.nvmlDeviceGetBoardPartNumber(device, part, 64) == 0
print(serial.value.decode(), part.value.decode())
before, began = pynvml.nvmlDeviceGetTotalEnergyConsumption(handle), time.time()
time.sleep(0.1)
used, seconds = pynvml.nvmlDeviceGetTotalEnergyConsumption(handle) - before, time.time() - began
assert 0 < used <= torch.cuda.power_draw(1) * (seconds + 0.01)
"""

LINKED = """
import ctypes, subprocess, pynvml, torch

pynvml.nvmlInit()
first, second = map(pynvml.nvmlDeviceGetHandleByIndex, range(2))
status, able = pynvml.nvmlDeviceGetP2PStatus, pynvml.nvmlDeviceGetNvLinkCapability
print([status(first, second, index) for index in (0, 1, 2, 3)], status(first, first, 2))
every = range(pynvml.NVML_NVLINK_MAX_LINKS)
counts = [sum(able(first, link, kind) for link in every) for kind in range(pynvml.NVML_NVLINK_CAP_COUNT)]
count = counts[pynvml.NVML_NVLINK_CAP_P2P_SUPPORTED]
print(counts)
own = {pynvml.nvmlDeviceGetPciInfo(handle).busId for handle in (first, second)}
print(sorted({pynvml.nvmlDeviceGetNvLinkRemotePciInfo(first, link).busId for link in range(count)} - own))
for ask in (pynvml.nvmlDeviceGetNvLinkState, pynvml.nvmlDeviceGetNvLinkRemotePciInfo):
    try:
        ask(first, count)
    except pynvml.NVMLError_InvalidArgument:
        print("no such link")
wanted = [pynvml.NVML_FI_DEV_NVLINK_LINK_COUNT, pynvml.NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON]
library, device = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p()
assert library.nvmlInit_v2() == library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) == 0
values = (pynvml.c_nvmlFieldValue_t * 2)()
values[0].fieldId, values[1].fieldId = wanted
assert library.nvmlDeviceGetFieldValues(device, 2, values) == 0
assert [each.value.ullVal for each in values] == [
    each.value.ullVal for each in pynvml.nvmlDeviceGetFieldValues(first, wanted)
]
print([each.value.ullVal for each in values])
for words in (["nvlink", "-s"], ["topo", "-m"]):
    done = subprocess.run(["nvidia-smi", *words], check=True, capture_output=True, text=True)
    print(*(line.strip() for line in done.stdout.splitlines() if "Link 0" in line or "GPU0\\t" in line))
"""

NVIDIAS_OWN = """
import pynvml, torch
from tests.pynvml.test_interface import real

DEVICE = (
    ["Serial"], ["BoardPartNumber"], ["UUID"], ["PciInfo"], ["MigMode"], ["EccMode"], ["BAR1MemoryInfo"],
    ["PowerState"], ["PowerUsage"], ["EnforcedPowerLimit"], ["TemperatureV", 0], ["PcieThroughput", 2],
    ["NvLinkState", 0], ["NvLinkState", 18], ["NvLinkCapability", 20, 0], ["NvLinkRemotePciInfo", 3],
)
found = []
for module in (pynvml, real()):
    module.nvmlInit()
    device = module.nvmlDeviceGetHandleByIndex(1)
    found.append([])
    for name, *arguments in DEVICE:
        try:
            found[-1].append(str(getattr(module, f"nvmlDeviceGet{name}")(device, *arguments)))
        except module.NVMLError as error:
            found[-1].append(repr(error))
    found[-1].append(module.nvmlSystemGetDriverVersion())
assert found[0] == found[1], found
print(len(found[1]), found[1][0], found[1][-1])
"""

UNLINKED = """
import subprocess, pynvml

pynvml.nvmlInit()
first, second = map(pynvml.nvmlDeviceGetHandleByIndex, range(2))
for ask, arguments in (
    (pynvml.nvmlDeviceGetNvLinkState, [0]),
    (pynvml.nvmlDeviceGetNvLinkCapability, [0, 0]),
    (pynvml.nvmlDeviceGetMigMode, []),
    (pynvml.nvmlDeviceGetMigDeviceHandleByIndex, [0]),
):
    try:
        ask(first, *arguments)
    except pynvml.NVMLError_NotSupported as error:
        print(*error.__notes__)
print(pynvml.nvmlDeviceGetP2PStatus(first, second, pynvml.NVML_P2P_CAPS_INDEX_NVLINK))
print(subprocess.run(["nvidia-smi", "nvlink", "-s"], capture_output=True, text=True).stdout.strip())
"""


UNDIVIDED = """
import ctypes, os, subprocess, sys, pynvml

pynvml.nvmlInit()
device = pynvml.nvmlDeviceGetHandleByIndex(0)
print(pynvml.nvmlDeviceGetMigMode(device), pynvml.nvmlDeviceGetMaxMigDeviceCount(device))
try:
    pynvml.nvmlDeviceGetMigDeviceHandleByIndex(device, 0)
except pynvml.NVMLError_NotFound as error:
    print(*error.__notes__)
library, own, part = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p(), ctypes.c_void_p()
assert library.nvmlInit_v2() == library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(own)) == 0
print(library.nvmlDeviceGetMigDeviceHandleByIndex(own, 0, ctypes.byref(part)))
os.environ["CUDA_VISIBLE_DEVICES"] = "MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f"
count = "import torch; print(torch.cuda.device_count())"
print(subprocess.run([sys.executable, "-c", count], capture_output=True, text=True).stdout.strip())
"""


@pytest.fixture(autouse=True)
def everywhere() -> None:
    """Keeps the tests of this file out of the worker, whose devices stand for no card."""


def said(platform: Platform, program: str, profile: str) -> list[str]:
    done = platform.run(program, environment={"MORPH_DEVICE_PROFILE": profile, "MORPH_DEVICES": "2"})
    assert done.returncode == 0, describe(done)
    return done.stdout.splitlines()


def test_an_idle_board_is_the_same_through_every_interface(platform: Platform) -> None:
    *readings, queried, marks = said(platform, ALIKE, "h100")
    assert dict(line.split() for line in readings) == {
        "Temperature": "30",
        "TemperatureThreshold": "89",
        "PowerUsage": "101000",
        "PowerManagementLimit": "700000",
        "PowerManagementDefaultLimit": "700000",
        "PerformanceState": "0",
        "ClockInfo": "345",
        "MaxClockInfo": "2619",
        "Brand": "14",
        "Architecture": "9",
        "NumGpuCores": "16896",
        "MaxPcieLinkGeneration": "5",
        "NvLinkVersion": "6",
        "NvLinkState": "1",
        "NvLinkRemoteDeviceType": "2",
    }
    assert queried == "['P0', 'simulated-1', '700.00', 'Disabled', '5', 'Enabled']"
    assert marks == "simulated-1 simulated-h100"


@pytest.mark.needs("pynvml")
def test_nvidias_own_package_reads_the_same_through_the_library(platform: Platform) -> None:
    assert said(platform, NVIDIAS_OWN, "h100") == ["17 simulated-1 580.65.06"]


def test_nvlink_leads_from_every_device_to_every_other(platform: Platform) -> None:
    assert said(platform, LINKED, "v100") == [
        "[0, 0, 0, 0] 5",
        "[6, 6, 6, 6, 0, 0]",
        str([f"00000000:{bus:02X}:00.0" for bus in range(2, 8)]),
        *["no such link"] * 2,
        "[6, 25781]",
        "Link 0: 25.781 GB/s Link 0: 25.781 GB/s",
        "GPU0\tGPU1 GPU0\t X \tNV6",
    ]


def test_a_card_without_nvlink_and_instances_says_so(platform: Platform) -> None:
    assert said(platform, UNLINKED, "l4") == [
        *["morph: NVLink: NVIDIA L4 has none"] * 2,
        *["morph: division into instances: NVIDIA L4 cannot be divided"] * 2,
        "5",
        "nvlink is not supported: no device has NVLink",
    ]


def test_no_card_is_divided(platform: Platform) -> None:
    said_of = "morph: there is no instance 0: morph divides no device"
    assert said(platform, UNDIVIDED, "a100") == ["[0, 0] 0", said_of, "6", "0"]


@pytest.mark.parametrize("name", NVIDIAS)
def test_a_profile_has_an_idle_board(name: str) -> None:
    card = cards.load(name, "the test")
    board = card.board
    assert {"brand", "architecture", "cores", "pci_device", "pcie_link", "performance_state"} <= board.keys()
    assert board["temperature"] < board.get("temperature_limit", 85) < board.get("shutdown_temperature", 90)
    low, high = board.get("power_limits", (board["power"], board["power_limit"]))
    assert board["power"] < board["power_limit"] <= high
    assert low < high
    assert bool(card.nvlink) == (name not in {"l4", "rtx4090", "t4"})
    assert ("mig_enabled" in board) == (name in {"a100", "b200", "h100", "h200"})

"""Sensors of vendors' libraries: pymtml and pyzes over soft libraries, and AMD SMI's names."""

import ast
import ctypes
import importlib.util
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from morph.aliases.sensors import musa, rocm, sysman, xpu
from morph.aliases.sensors.reading import Clock, Device, Memory, PciAddress, Process, UnknownReadingError
from tests.sensors import stand_in_amdsmi
from tests.sensors.soft_ze import Loader

HERE = pathlib.Path(__file__).parent


def unknown(device: Device, reading: str, *arguments: object) -> str:
    with pytest.raises(UnknownReadingError) as caught:
        getattr(device, reading)(*arguments)
    return str(caught.value)


@pytest.fixture
def pymtml(tmp_path: pathlib.Path) -> Iterator[ModuleType]:
    """The real package over the soft library."""
    library = tmp_path / "libmtml.so.2"
    compiled = subprocess.run(
        ["g++", "-std=c++20", "-shared", "-fPIC", "-o", library, HERE / "soft_mtml.cpp"], check=False
    )
    assert compiled.returncode == 0
    module = pytest.importorskip("pymtml")
    module.mtmlLib = ctypes.CDLL(str(library))
    yield module
    module.mtmlLib = None
    module._mtmlGetFunctionPointer_cache.clear()


def test_moore_threads_through_its_own_package(pymtml: ModuleType) -> None:
    source = musa.open_source()
    assert source.title == "pymtml"
    assert source.driver_version() == "3.0.1"
    first, second = source.devices()
    assert first.name() == "MTT S4000"
    assert second.uuid() == "8d1c6b1e-0000-4000-8000-000000000001"
    assert (first.serial(), first.firmware()) == ("S4K0001", "3.4.3")
    assert second.pci() == PciAddress(0, 0x3B, 0)
    assert (first.pcie_link(), first.max_pcie_link()) == ((4, 8), (5, 16))
    assert first.memory() == Memory(48 << 30, 5 << 30)
    assert first.memory().free == 43 << 30
    assert (first.busy(), first.memory_busy()) == (73, 10)
    assert (first.encoder_busy(), first.decoder_busy()) == (1, 3)
    assert (first.temperature(), second.power()) == (51, 95301)
    assert (first.clock(Clock.COMPUTE), first.max_clock(Clock.COMPUTE)) == (1500, 1750)
    assert (first.clock(Clock.MEMORY), first.cores(), first.memory_bus_width()) == (8000, 8192, 384)
    assert first.ecc_enabled()
    assert unknown(first, "clock", Clock.VIDEO) == "MTML: Not Supported"
    assert unknown(first, "max_clock", Clock.MEMORY) == "MTML: Function Not Found"
    assert unknown(first, "fan_speed") == "speed of the fan: MTML does not report it"
    assert unknown(first, "processes") == "processes: MTML does not report it"


@pytest.mark.needs("pymtml")
def test_moore_threads_without_its_library_or_package(monkeypatch: pytest.MonkeyPatch) -> None:
    without_library = musa.open_source()
    assert without_library.title == "torch_musa"
    assert "libmtml comes with Moore Threads' driver" in without_library.why_unknown
    monkeypatch.setitem(sys.modules, "pymtml", None)
    assert "pip install 'torch-morph[musa]'" in musa.open_source().why_unknown


def test_amd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "amdsmi", stand_in_amdsmi)
    source = rocm.open_source()
    assert source.driver_version() == "6.12.12"
    first, second = source.devices()
    assert (first.name(), first.cores(), first.firmware()) == (
        "AMD Instinct MI300X",
        304,
        "022.040.003.042.000001",
    )
    assert second.uuid() == "29ff74a1-0000-1000-80ef-4e45e5c5d6d1"
    assert (second.pci(), second.numa_node()) == (PciAddress(0, 0x1C, 0), 1)
    assert (first.pcie_link(), first.max_pcie_link()) == ((4, 16), (5, 16))
    assert first.memory() == Memory(196592 << 20, 285 << 20)
    assert (first.busy(), first.memory_busy(), first.memory_bus_width()) == (88, 31, 8192)
    assert (first.temperature(), first.temperature_limit()) == (43, 100)
    assert (first.power(), first.power_limit(), first.power_limits()) == (139000, 750000, (0, 750000))
    assert first.energy() == round(4063921 * 15.3 / 1000)
    assert (first.clock(Clock.COMPUTE), first.max_clock(Clock.MEMORY)) == (1300, 1300)
    assert first.processes() == [Process(4711, 1 << 33)]
    assert (first.pcie_throughput(sent=True), first.pcie_throughput(sent=False)) == (4000, 2000)
    assert first.ecc_enabled()
    assert (first.ecc_errors(corrected=True), first.ecc_errors(corrected=False)) == (2, 0)
    assert unknown(first, "serial") == "product_serial: AMD SMI does not report it"
    assert unknown(first, "clock", Clock.VIDEO) == "clk: AMD SMI does not report it"
    assert "AMDSMI_STATUS_NOT_SUPPORTED" in unknown(first, "fan_speed")


def test_amd_without_its_driver_names_what_to_install() -> None:
    with pytest.raises(UnknownReadingError, match=r"pip install 'torch-morph\[rocm\]'"):
        rocm.open_source()


def functions_of(path: pathlib.Path) -> dict[str, int]:
    """Return how many parameters without a default each function in a file has."""
    tree = ast.parse(path.read_text())
    found = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return {node.name: len(node.args.args) - len(node.args.defaults) for node in found}


@pytest.mark.needs("amdsmi")
def test_amds_functions_are_those_of_its_package() -> None:
    spec = importlib.util.find_spec("amdsmi")
    assert spec is not None
    real = functions_of(pathlib.Path(str(spec.origin)).parent / "amdsmi_interface.py")
    asked = set(re.findall(r"amdsmi_\w+", pathlib.Path(rocm.__file__).read_text()))
    ours = {f"amdsmi_{name}": count for name, (count, _) in stand_in_amdsmi.ANSWERS.items()}
    assert {name: real.get(name) for name in asked} == {name: ours.get(name) for name in asked}
    assert len(asked) > 20


@pytest.fixture
def pyzes(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The real package over the soft loader, which it opens when it is imported."""
    opened = Loader(ModuleType("pyzes"))
    with monkeypatch.context() as patch:
        patch.setattr(ctypes, "CDLL", lambda path: opened)
        patch.delitem(sys.modules, "pyzes", raising=False)
        module = importlib.import_module("pyzes")
    monkeypatch.setitem(sys.modules, "pyzes", module)
    opened.__init__(module)  # type: ignore[misc]  # now that the structures are known
    opened.fill()
    monkeypatch.setattr(sysman, "SAMPLE", 0.0)
    return module


@pytest.mark.needs("pyzes")
def test_cards_and_tiles(pyzes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    source = xpu.open_source()
    assert (source.title, source.driver_version()) == ("pyzes", "1.6.31294")
    first, second, plain = source.devices()
    assert [each.pci() for each in (first, second, plain)] == [PciAddress(0, bus, 0) for bus in (1, 1, 2)]
    assert first.memory() == second.memory() == plain.memory() == Memory(16 << 30, 11 << 30)
    monkeypatch.setenv("ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE")
    whole, _ = source.devices()
    monkeypatch.setenv("ZE_AFFINITY_MASK", "1,0")
    assert [source.position(index) for index in (0, 1, 2)] == [0, 1, 2]
    monkeypatch.setenv("ZE_AFFINITY_MASK", "2")
    assert source.position(0) == 2


@pytest.mark.needs("pyzes")
def test_every_reading(pyzes: ModuleType) -> None:
    tile, _, card = xpu.open_source().devices()
    assert card.name() == "Intel(R) Data Center GPU Max 1550"
    assert card.uuid() == "00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert (card.cores(), card.memory_bus_width()) == (512, 1024)
    assert card.pcie_link() == (4, 16)
    assert (card.pcie_throughput(sent=True), card.pcie_throughput(sent=False)) == (1000, 2000)
    assert (card.busy(), card.memory_busy(), card.temperature()) == (73, 15, 51)
    assert (card.power(), card.power_limit(), card.power_limits()) == (95_300, 300_000, (1, 300_000))
    assert card.energy() > 0
    assert (card.clock(Clock.COMPUTE), card.max_clock(Clock.COMPUTE)) == (1400, 1550)
    assert card.processes() == [Process(4711, 1 << 30)]
    assert card.ecc_enabled()
    for device, reading, *arguments in (
        (card, "serial"),
        (card, "max_pcie_link"),
        (card, "clock", Clock.MEMORY),
        (tile, "power"),
        (card, "fan_speed"),
        (card, "firmware"),
    ):
        assert "Level Zero Sysman does not report it" in unknown(device, reading, *arguments)


@pytest.mark.needs("pyzes")
def test_a_function_that_fails_is_named(pyzes: ModuleType) -> None:
    _, _, card = xpu.open_source().devices()
    refuse = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(
        lambda handle, place: 0x78000003
    )
    pyzes.gpuLib.zesDevicePciGetState = refuse
    pyzes._getFunctionPointerList.clear()
    assert unknown(card, "pcie_link") == "zesDevicePciGetState: Level Zero returns 0x78000003"


@pytest.mark.needs("pyzes")
def test_without_the_package_or_the_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyzes", None)
    assert "pip install 'torch-morph[xpu]'" in xpu.open_source().why_unknown
    monkeypatch.delitem(sys.modules, "pyzes")
    source = xpu.open_source()
    assert source.title == "torch.xpu"
    assert "Level Zero comes with Intel's driver" in source.why_unknown

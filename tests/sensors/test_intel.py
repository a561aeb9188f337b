"""Intel's readings: the real pyzes over a soft Level Zero loader, and what is reported without either."""

from __future__ import annotations

import ctypes
import importlib
import sys
from types import ModuleType

import pytest

from morph.aliases.sensors import sysman, xpu
from morph.aliases.sensors.reading import Clock, Memory, PciAddress, Process
from tests.sensors.soft_ze import Loader
from tests.sensors.test_libraries import unknown


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

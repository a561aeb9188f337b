"""The parsers of vendors' tools on real machines' output, and the CPU's sensors."""

import itertools
import pathlib
from types import SimpleNamespace

import psutil
import pytest

from morph.aliases.sensors import cnmon, npu_smi, powercap
from morph.aliases.sensors.cnmon import Card
from morph.aliases.sensors.npu_smi import Chip
from morph.aliases.sensors.powercap import Powercap
from morph.aliases.sensors.processor import Counts, Processor
from morph.aliases.sensors.reading import PciAddress, UnknownReadingError
from morph.aliases.sensors.tool import Tool

RECORDED = pathlib.Path(__file__).parent / "recorded"


def recorded(name: str) -> str:
    return (RECORDED / f"{name}.txt").read_text()


def test_npu_smi_with_one_chip_a_board() -> None:
    text = recorded("npu-smi-910B3")
    assert npu_smi.version(text) == "24.1.rc1"
    assert npu_smi.chips(text) == [
        Chip(0, 0, "910B3", "0000:C1:00.0", 94.6, 40, 0, 3439, 65536, ((1904, 101), (2044, 99)))
    ]


def test_npu_smi_with_two_chips_a_board_of_which_one_has_the_meter() -> None:
    chips = npu_smi.chips(recorded("npu-smi-Ascend910"))
    assert [(chip.npu, chip.chip, chip.power, chip.temperature) for chip in chips] == [
        (0, 0, 232.5, 52),
        (0, 1, None, 51),
        (2, 0, 175.3, 52),
        (2, 1, None, 52),
    ]
    assert [(chip.busy, chip.used, chip.total) for chip in chips[1:3]] == [
        (17, 52948, 65536),
        (0, 3128, 65536),
    ]
    assert [chip.processes for chip in chips] == [
        ((3325989, 50128), (3330598, 132)),
        ((3328327, 50119),),
        (),
        (),
    ]
    assert {chip.name for chip in chips} == {"Ascend910"}
    assert chips[3].bus_id == "0000:97:00.0"


def test_npu_smi_of_a_topic() -> None:
    told = npu_smi.pairs(recorded("npu-smi-common"))
    assert told["Aicore curFreq(MHZ)"] == "1000"
    assert told["Aicore Count"] == "32"
    assert told["NPU Real-time Power(W)"] == "69.0"
    assert npu_smi.pairs("Temperature(C) : 46\nTemperature(C) : 40\n") == {"Temperature(C)": "46"}


def test_cnmon() -> None:
    text = recorded("cnmon-MLU370-X8")
    assert cnmon.driver_version(text) == "5.10.13"
    assert cnmon.cards(text) == [
        Card(0, "MLU370-X8", "1.1.6", "0000:39:00.0", 0, 0, 32, 106, 250, 0, 23374),
        Card(1, "MLU370-X8", "1.1.6", "0000:3D:00.0", 0, 0, 39, 106, 250, 0, 23374),
    ]


def test_cnmon_of_an_older_release_tells_no_place_on_the_bus() -> None:
    text = recorded("cnmon-MLU370-X4")
    assert cnmon.driver_version(text) == "4.20.11"
    assert [(card.bus_id, card.power, card.temperature) for card in cnmon.cards(text)] == [
        (None, 30, 32),
        (None, 25, 33),
    ]


def test_cnmon_with_a_process_below_the_recorded_head() -> None:
    row = "|  0     /   12345   python train.py --epochs 3                        1024 MiB |"
    none = "|  No running processes found                                                  |"
    cards = cnmon.cards(recorded("cnmon-MLU370-X8").replace(none, row))
    assert [card.processes for card in cards] == [((12345, 1024),), ()]


def test_text_that_is_no_table_has_no_devices() -> None:
    assert npu_smi.chips("dcmi model initialized failed, because the device is used.") == []
    assert npu_smi.version("") is None
    assert cnmon.cards("Error: no device\n| |\n|") == []
    assert cnmon.driver_version("") is None


def test_an_address() -> None:
    assert PciAddress.parse("0000:C1:00.0") == PciAddress(0, 0xC1, 0, 0)
    assert PciAddress.parse("00000001:3d:1f.7") == PciAddress(1, 0x3D, 0x1F, 7)
    assert PciAddress.parse("C1:00.0") == PciAddress(0, 0xC1, 0)
    with pytest.raises(ValueError, match="is no PCI address"):
        PciAddress.parse("somewhere")


def test_a_tool_that_fails_says_so_and_is_asked_anew_after_a_moment(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "npu-smi"
    script.write_text("#!/bin/sh\ndate +%N\n[ -z \"$1\" ] || { echo 'no such device' >&2; exit 7; }\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    tool = Tool("npu-smi")
    assert tool.installed
    assert tool.ask() == tool.ask()
    monkeypatch.setattr("morph.aliases.sensors.tool.KEPT", 0.0)
    assert tool.ask() != tool.ask()
    with pytest.raises(UnknownReadingError, match="npu-smi info ends with status 7: no such device"):
        tool.ask("info")
    with pytest.raises(UnknownReadingError, match="absent"):
        Tool("absent-tool").ask()


def zone(folder: pathlib.Path, name: str, energy: int) -> pathlib.Path:
    """Writes the kernel's files for a CPU package: its counter, the value at which that wraps, its limit."""
    package = folder / name
    package.mkdir(exist_ok=True)
    files = {
        "energy_uj": energy,
        "max_energy_range_uj": 1_000_000,
        "constraint_0_power_limit_uw": 125_000_000,
    }
    for file, value in files.items():
        (package / file).write_text(f"{value}\n")
    return package / "energy_uj"


def test_power_is_the_growth_of_the_energy(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (zone(tmp_path, f"intel-rapl:{number}", 900_000) for number in (0, 1))
    zone(tmp_path, "intel-rapl:0:0", 7)  # the cores of a package, whose counter includes them already
    seconds = itertools.count()
    monkeypatch.setattr(powercap.time, "monotonic", lambda: float(next(seconds)))
    monkeypatch.setattr(powercap, "SAMPLE", 0.0)
    packages = Powercap(tmp_path)
    assert (packages.energy(), packages.limit()) == (1800, 250_000)
    assert packages.power() == 0
    first.write_text("950000\n")
    second.write_text("20000\n")  # wrapped around
    assert packages.power() == 50 + 120


def test_without_a_counter_or_the_right_to_read_it(tmp_path: pathlib.Path) -> None:
    for ask in (Powercap(tmp_path).power, Powercap(tmp_path).energy, Powercap(tmp_path).limit):
        with pytest.raises(UnknownReadingError):
            ask()


def test_temperatures(monkeypatch: pytest.MonkeyPatch) -> None:
    processor = Processor(Counts(), 0)
    package = SimpleNamespace(label="Package id 0", current=51.6, high=82.0, critical=None)
    monkeypatch.setattr(
        psutil, "sensors_temperatures", lambda: {"nvme": [], "coretemp": [package]}, raising=False
    )
    assert (processor.temperature(), processor.temperature_limit()) == (52, 82)
    with pytest.raises(UnknownReadingError, match="temperature of switching off"):
        processor.shutdown_temperature()
    monkeypatch.setattr(psutil, "sensors_temperatures", dict, raising=False)
    with pytest.raises(UnknownReadingError, match="the system has no sensor of the processor"):
        processor.temperature()

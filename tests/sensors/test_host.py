"""The CPU's sensors, on files like the kernel's and on readings like psutil's."""

from __future__ import annotations

import itertools
import pathlib
from types import SimpleNamespace

import psutil
import pytest

from morph.aliases.sensors import powercap
from morph.aliases.sensors.cpu import Host, Processor
from morph.aliases.sensors.powercap import Powercap
from morph.aliases.sensors.reading import UnknownReadingError


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
    processor = Processor(Host(), 0)
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

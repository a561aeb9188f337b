"""A host's TPUs: on the PCI bus, and in libtpu's monitoring library.

Its answers have the form that https://docs.cloud.google.com/tpu/docs/tpu-monitoring-library documents; no TPU
was there.
"""

import pathlib
import sys
from types import SimpleNamespace

import pytest

from morph.aliases.sensors import tpu
from morph.aliases.sensors.reading import Memory, PciAddress, Process, UnknownReadingError
from morph.base import hardware
from tests.platforms import complete

V5E = "1ae0:0063"
ANSWERS = {
    "duty_cycle_pct": ["45.32", "0.00"],
    "hbm_capacity_total": ["17179869184", "17179869184"],
    "hbm_capacity_usage": ["1073741824", "0"],
}
DOCTOR = """
import pathlib, runpy, sys
from morph.base import hardware
hardware.PCI = pathlib.Path(sys.argv.pop(1))
runpy.run_module("morph", run_name="__main__", alter_sys=True)
"""


def metric(name: str) -> SimpleNamespace:
    return SimpleNamespace(data=lambda: ANSWERS[name])


@pytest.fixture
def bus(tmp_path: pathlib.Path) -> pathlib.Path:
    """A PCI bus with three TPUs v5e, the last by address first in /dev/vfio, and a card of Google's."""
    places = {"0000:00:04.0": ("0x0063", 1), "0000:00:05.0": ("0x0063", 10), "0000:00:06.0": ("0x0063", 0)}
    for address, (device, group) in {**places, "0000:00:03.0": ("0x0042", 7)}.items():
        folder, groups = tmp_path / "pci" / address, tmp_path / "groups" / str(group)
        folder.mkdir(parents=True)
        groups.mkdir(parents=True)
        (folder / "vendor").write_text("0x1ae0\n")
        (folder / "device").write_text(f"{device}\n")
        (folder / "iommu_group").symlink_to(groups)
    return tmp_path / "pci"


@pytest.fixture
def source(bus: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> tpu.Libtpu:
    monkeypatch.setattr(hardware, "PCI", bus)
    return tpu.Libtpu(SimpleNamespace(get_metric=metric), hardware.pci_devices([V5E]))


def test_chips_in_the_order_of_their_files(source: tpu.Libtpu) -> None:
    assert [each.pci() for each in source.devices()] == [PciAddress(0, 0, at) for at in (6, 4, 5)]
    assert len({each.uuid() for each in source.devices()}) == 3


def test_readings_of_running_programs(source: tpu.Libtpu) -> None:
    first, second, third = source.devices()
    assert (first.busy(), second.busy()) == (45, 0)
    assert first.memory() == Memory(17179869184, 1073741824)
    with pytest.raises(UnknownReadingError, match="memory of a TPU without a running program: "):
        third.memory()
    with pytest.raises(UnknownReadingError, match="temperature: libtpu does not report it"):
        first.temperature()


def test_processes_have_the_file_open(
    source: tpu.Libtpu, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"17": "/dev/vfio/10", "9": "/dev/vfio/10", "18": "/dev/vfio/1", "19": "/dev/null"}
    for pid, file in files.items():
        (tmp_path / "proc" / pid / "fd").mkdir(parents=True)
        (tmp_path / "proc" / pid / "fd" / "5").symlink_to(file)
    monkeypatch.setattr(tpu, "_PROCESSES", tmp_path / "proc")
    held = [each.processes() for each in source.devices()]
    assert held == [[], [Process(18, None)], [Process(9, None), Process(17, None)]]


def test_without_libtpu_torch_tpu_is_the_source(source: tpu.Libtpu) -> None:
    assert tpu.open_source().title == "torch_tpu"


@pytest.mark.long
def test_doctor_finds_a_tpu_without_its_package(bus: pathlib.Path) -> None:
    done = complete([sys.executable, "-c", DOCTOR, bus, "doctor"], timeout=120)
    told = " ".join(done.stdout.split())
    assert "Google TPU has the PCI device 0000:00:04.0, but torch-tpu is not installed" in told

"""The screen of nvidia-smi without arguments."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from morph.aliases.sensors.origin import Source
from morph.kernels.nvidia_smi.queries import processes, written
from morph.kernels.nvidia_smi.readings import Subject, driver_version, runtime_version

_COLUMNS = (41, 24, 22)
_WIDTH = sum(_COLUMNS) + len(_COLUMNS) - 1
_TITLES = (
    (" GPU  Name                 Persistence-M ", " Bus-Id          Disp.A ", " Volatile Uncorr. ECC "),
    (" Fan  Temp   Perf          Pwr:Usage/Cap ", "           Memory-Usage ", " GPU-Util  Compute M. "),
    ("", "", "               MIG M. "),
)


def lines(source: Source, subjects: Sequence[Subject]) -> Iterator[str]:
    """Return the lines of the screen."""
    yield time.strftime("%a %b %e %H:%M:%S %Y").ljust(31)
    yield f"+{'-' * _WIDTH}+"
    yield f"| {_versions(source):<{_WIDTH - 2}} |"
    yield _rule("|", "-", "+")
    yield from map(_row, _TITLES)
    yield _rule("|", "=", "+")
    for subject in subjects:
        yield from map(_row, _device(subject))
        yield _rule("+", "-", "+")
    yield ""
    yield from _processes(subjects)
    for board in sorted({str(each.read("part_number")) for each in subjects} - {"None"}):
        yield f"{board}: the readings of an idle board; memory and load are measured"


def _versions(source: Source) -> str:
    driver, cuda = driver_version(source)[:16], runtime_version(source) or "N/A"
    return f"NVIDIA-SMI {driver:<20}  Driver Version: {driver:<16} CUDA Version: {cuda:<5}"


def _device(subject: Subject) -> list[tuple[str, str, str]]:
    name, place = str(subject.read("name"))[:27], subject.read("pci_bus_id") or "N/A"
    errors, busy = subject.read("ecc_uncorrected"), subject.read("busy")
    power, limit = (_whole(subject, reading, "W") for reading in ("power", "power_limit"))
    used, total = (_whole(subject, reading, "MiB") for reading in ("memory_used", "memory_total"))
    fan, temperature = _whole(subject, "fan_speed", "%"), _whole(subject, "temperature", "C")
    state, mig = subject.read("performance_state"), subject.read("mig_mode") or "N/A"
    load = "N/A" if busy is None else f"{busy}%"
    return [
        (
            f" {subject.index:>3}  {name:<27}  On  ",
            f"   {place} Off ",
            f" {'N/A' if errors is None else errors:>20} ",
        ),
        (
            f" {fan:>3}  {temperature:>4}    {state}        {power:>7} / {limit:>6} ",
            f" {used:>9} / {total:>10} ",
            f" {load:>7}      Default ",
        ),
        ("", "", f" {mig:>20} "),
    ]


def _processes(subjects: Sequence[Subject]) -> Iterator[str]:
    yield f"+{'-' * _WIDTH}+"
    for title in (
        " Processes:",
        "  GPU   GI   CI              PID   Type   Process name                        GPU Memory ",
        "        ID   ID                                                               Usage      ",
    ):
        yield f"|{title:<{_WIDTH}}|"
    yield f"|{'=' * _WIDTH}|"
    found = processes(subjects)
    for each in found:
        memory = each.read("process_memory")
        amount = "N/A" if memory is None else f"{memory}MiB"
        name = _shortened(str(each.read("process_name")), 36)
        row = f" {each.index:>4}   N/A  N/A {each.read('pid'):>15}      C   {name:<36} {amount:>9} "
        yield f"|{row:<{_WIDTH}}|"
    if not found:
        yield f"|{'  No running processes found':<{_WIDTH}}|"
    yield f"+{'-' * _WIDTH}+"


def _whole(subject: Subject, reading: str, unit: str) -> str:
    value = subject.read(reading)
    return "N/A" if value is None else f"{written(round(value) if isinstance(value, float) else value)}{unit}"


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else f"...{text[3 - width :]}"


def _row(cells: tuple[str, str, str]) -> str:
    return f"|{'|'.join(cell.ljust(width)[:width] for cell, width in zip(cells, _COLUMNS, strict=True))}|"


def _rule(edge: str, line: str, between: str) -> str:
    return f"{edge}{between.join(line * width for width in _COLUMNS)}{'|' if edge == '|' else '+'}"

"""Parses the output of Ascend's ``npu-smi``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

_BUS_ID = re.compile(r"[0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]")
_USED_OF_TOTAL = re.compile(r"(\d+)\s*/\s*(\d+)")
_VERSION = re.compile(r"npu-smi\s+(\S+)")
_PAIR = re.compile(r"^\s*(.+?)\s*:\s*(.*?)\s*$")


@dataclass(frozen=True, slots=True)
class Chip:
    """A chip in the table of ``npu-smi info``.

    Attributes:
        npu: The board's number.
        chip: The chip's number on the board.
        name: The product, ``"910B3"``.
        bus_id: Its PCI address.
        power: Watts of the board; None for a chip without a power meter.
        temperature: Degrees Celsius.
        busy: Percentage of time in which its AI cores were busy.
        used: Megabytes of device memory in use.
        total: Megabytes of device memory.
        processes: Process number and megabytes of each process on it.
    """

    npu: int
    chip: int
    name: str
    bus_id: str
    power: float | None
    temperature: int
    busy: int
    used: int
    total: int
    processes: tuple[tuple[int, int], ...] = ()


def version(text: str) -> str | None:
    """Return the version in the table's header, which is the driver's."""
    found = _VERSION.search(text)
    return found[1] if found else None


def chips(text: str) -> list[Chip]:
    """Parse the table of ``npu-smi info``, in which each chip has two lines.

    Args:
        text: The table of any release and product: some print a physical number or no chip number, and boards
            without high-bandwidth memory have one column less.
    """
    rows = [_cells(line) for line in text.splitlines() if line.startswith("|")]
    processes = list(_processes(rows))
    found = (
        _chip(first, second) for first, second in zip(rows, rows[1:], strict=False) if _is_second(second)
    )
    return [_with_processes(chip, processes) for chip in found]


def pairs(text: str) -> Mapping[str, str]:
    """Parse the output of ``npu-smi info -t ... -i ... -c ...``: lines of ``name : value``.

    If a name occurs twice, the first value is the chip's, the second that of the board's controller.
    """
    found: dict[str, str] = {}
    for match in filter(None, map(_PAIR.match, text.splitlines())):
        found.setdefault(match[1], match[2])
    return found


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _is_second(cells: list[str]) -> bool:
    return len(cells) > 2 and _BUS_ID.fullmatch(cells[-2]) is not None


def _chip(first: list[str], second: list[str]) -> Chip:
    npu, *name = " ".join(first[:-2]).split()
    chip = second[0].split()
    power, temperature = first[-1].split()[:2]
    used, total = _USED_OF_TOTAL.findall(second[-1])[-1]
    return Chip(
        npu=int(npu),
        chip=int(chip[0]) if chip else 0,
        name=" ".join(name),
        bus_id=second[-2],
        power=None if power == "-" else float(power),
        temperature=int(temperature),
        busy=int(second[-1].split()[0]),
        used=int(used),
        total=int(total),
    )


def _processes(rows: list[list[str]]) -> Iterator[tuple[int, int, int, int]]:
    """Yield board, chip, process number and megabytes of each row of the table of processes."""
    for cells in rows:
        if len(cells) >= 4 and cells[1].isdigit() and cells[3].isdigit():
            npu, *chip = cells[0].split()
            yield int(npu), int(chip[0]) if chip else 0, int(cells[1]), int(cells[3])


def _with_processes(chip: Chip, processes: list[tuple[int, int, int, int]]) -> Chip:
    own = tuple((pid, used) for npu, number, pid, used in processes if (npu, number) == (chip.npu, chip.chip))
    return replace(chip, processes=own)

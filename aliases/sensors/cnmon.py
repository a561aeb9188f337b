"""Reads the table that Cambricon's ``cnmon`` prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

_DRIVER = re.compile(r"\bDriver\s+v(\S+)|\bOn\s+v(\d\S+)")
_NAMED = re.compile(
    r"\|\s*(?P<card>\d+)\s+\S+\s+(?P<name>\S+)\s+v(?P<firmware>\S+)\s*\|(?P<middle>[^|]*)\|(?P<last>[^|]*)\|"
)
_MEASURED = re.compile(
    r"\|\s*(?P<fan>\S+)\s+(?P<temperature>\d+)C\s+(?P<power>\d+)\s*W/\s*(?P<limit>\d+)\s*W\s*\|"
    r"\s*(?P<used>\d+)\s*MiB/\s*(?P<total>\d+)\s*MiB\s*\|"
)
_PROCESS = re.compile(r"\|\s+(?P<card>\d+)\s+\S+\s+(?P<pid>\d+)\s+.*?\s(?P<used>\d+)\s*MiB\s*\|")
_BUS_ID = re.compile(r"[0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]")


@dataclass(frozen=True, slots=True)
class Card:
    """A card in the table.

    Attributes:
        number: cnmon's number of the card.
        name: The product, ``"MLU370-X8"``.
        firmware: The version of its firmware.
        bus_id: Its PCI address; None in the table of older releases.
        busy: Percentage of time in which its cores were busy.
        fan: Percentage of the fan's highest speed; None without a fan.
        temperature: Degrees Celsius.
        power: Watts.
        limit: The limit of the power in watts.
        used: Mebibytes of device memory in use.
        total: Mebibytes of device memory.
        processes: Process number and mebibytes of each process on it.
    """

    number: int
    name: str
    firmware: str
    bus_id: str | None
    busy: int
    fan: int | None
    temperature: int
    power: int
    limit: int
    used: int
    total: int
    processes: tuple[tuple[int, int], ...] = ()


def driver_version(text: str) -> str | None:
    """Return the driver's version, from the table's header or, in older releases, from a card's line."""
    found = _DRIVER.search(text)
    return (found[1] or found[2]) if found else None


def cards(text: str) -> list[Card]:
    """Read the table, in which each card has two lines."""
    lines = text.splitlines()
    matches = (
        (_NAMED.match(first), _MEASURED.match(second))
        for first, second in zip(lines, lines[1:], strict=False)
    )
    found = [_card(named, measured) for named, measured in matches if named and measured]
    processes = list(_processes(lines))
    return [
        replace(
            card, processes=tuple((pid, used) for number, pid, used in processes if number == card.number)
        )
        for card in found
    ]


def _card(named: re.Match[str], measured: re.Match[str]) -> Card:
    bus_id = _BUS_ID.search(named["middle"])
    return Card(
        number=int(named["card"]),
        name=named["name"],
        firmware=named["firmware"],
        bus_id=bus_id[0] if bus_id else None,
        busy=int(named["last"].split("%")[0]),
        fan=int(measured["fan"].rstrip("%")) if measured["fan"].endswith("%") else None,
        temperature=int(measured["temperature"]),
        power=int(measured["power"]),
        limit=int(measured["limit"]),
        used=int(measured["used"]),
        total=int(measured["total"]),
    )


def _processes(lines: list[str]) -> Iterator[tuple[int, int, int]]:
    """Yield card, process number and mebibytes of each row of the table of processes."""
    for match in filter(None, map(_PROCESS.fullmatch, lines)):
        yield int(match["card"]), int(match["pid"]), int(match["used"])

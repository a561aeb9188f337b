"""How the devices are connected: ``topo -m``, ``topo -p2p`` and ``nvlink -s``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from morph.aliases.sensors.reading import UnknownReadingError
from morph.kernels.nvidia_smi.readings import Subject
from morph.kernels.nvidia_smi.refusal import UNSUPPORTED, Refusal

STATUS = {"-s", "--status"}
MATRIX = {"-m", "--matrix"}
PEERS = {frozenset((flag, kind)): kind for flag in ("-p2p", "--p2pstatus") for kind in "rwna"}
_LEGEND = """
Legend:

  X    = Self
  SYS  = Connection through the host's memory"""
_PEERS_LEGEND = """
Legend:

  X    = Self
  OK   = Status Ok
  GNS  = GPU not supported
  NS   = Not supported
  U    = Unknown"""


def topology(subjects: Sequence[Subject]) -> Iterator[str]:
    """Return the matrix of connections."""
    yield from _matrix(subjects, "", _connection)
    yield _LEGEND
    if any(_count(each) for each in subjects):
        yield "  NV#  = Connection through # links of NVLink"


def peers(subjects: Sequence[Subject], kind: str) -> Iterator[str]:
    """Return the matrix of access to the memory of others, of a kind.

    Args:
        subjects: The devices.
        kind: ``"r"`` for reads, ``"w"`` for writes, ``"n"`` for NVLink, ``"a"`` for atomic operations.
    """
    yield from _matrix(subjects, " ", lambda row, column: _access(row, column, kind))
    yield _PEERS_LEGEND


def status(subjects: Sequence[Subject]) -> Iterator[str]:
    """Return the links of each device with their speed.

    Raises:
        Refusal: If no device has any.
    """
    if not any(_count(each) for each in subjects):
        raise Refusal("nvlink is not supported: no device has NVLink", UNSUPPORTED)
    for each in subjects:
        yield f"GPU {each.index}: {each.read('name')} (UUID: {each.read('uuid')})"
        for link in range(_count(each)):
            yield f"\t Link {link}: {each.device.links().speed / 1000:g} GB/s"


def _connection(first: Subject, second: Subject) -> str:
    if first.index == second.index:
        return " X "
    return f"NV{_count(first)}" if first.device.linked(second.device) else "SYS"


def _matrix(
    subjects: Sequence[Subject], margin: str, cell: Callable[[Subject, Subject], str]
) -> Iterator[str]:
    names = [f"{margin}GPU{each.index}" for each in subjects]
    yield "\t".join([margin, *map(str.strip, names)])
    for name, row in zip(names, subjects, strict=True):
        yield "\t".join([name, *(cell(row, column) for column in subjects)])


def _access(first: Subject, second: Subject, kind: str) -> str:
    if first.index == second.index:
        return "X"
    try:
        if kind in "rw":
            return "OK" if first.device.reaches(second.device) else "GNS"
        return "OK" if first.device.linked(second.device) else "NS"
    except UnknownReadingError:
        return "U"


def _count(subject: Subject) -> int:
    try:
        return int(subject.device.links().count)
    except UnknownReadingError:
        return 0

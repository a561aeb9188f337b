"""How the devices are connected: ``topo -m`` and ``nvlink -s``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from morph.aliases.sensors.reading import UnknownReadingError
from morph.kernels.nvidia_smi.readings import Subject
from morph.kernels.nvidia_smi.refusal import UNSUPPORTED, Refusal

STATUS = {"-s", "--status"}
_LEGEND = """
Legend:

  X    = Self
  SYS  = Connection through the host's memory"""


def topology(subjects: Sequence[Subject]) -> Iterator[str]:
    """Return the matrix of connections."""
    names = [f"GPU{each.index}" for each in subjects]
    yield "\t".join(["", *names])
    for row in subjects:
        yield "\t".join([f"GPU{row.index}", *(_connection(row, column) for column in subjects)])
    yield _LEGEND
    if any(_count(each) for each in subjects):
        yield "  NV#  = Connection through # links of NVLink"


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


def _count(subject: Subject) -> int:
    try:
        return int(subject.device.links().count)
    except UnknownReadingError:
        return 0

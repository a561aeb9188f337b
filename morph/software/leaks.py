"""Device memory that a program or a test has taken and not given back."""

from __future__ import annotations

import collections
import gc
import sys
from typing import NamedTuple

import torch

from morph.software import graphs, sanitizing, settings
from morph.software.machine import started

MOST_LINES = 20  # of a report


class Taken(NamedTuple):
    """A block of device memory that is in use.

    Attributes:
        device: The index of its device.
        bytes: As it was asked for.
    """

    device: int
    bytes: int


def taken() -> dict[int, Taken]:
    """Return the blocks that are in use, by address; cuBLAS gives its workspaces back before."""
    torch._C._cuda_clearCublasWorkspaces()
    return {
        block["address"]: Taken(segment["device"], block["requested_size"])
        for segment in started().native.memory_snapshot(False)
        for block in segment["blocks"]
        if block["state"] == "active_allocated"
    }


def handles() -> dict[str, int]:
    """Return how many events, streams that the program made by the runtime, and graphs there are."""
    events, streams = started().native.handles()
    return {"event": events, "stream": streams, "graph": len(graphs.made)}


def counted(handles: dict[str, int]) -> list[str]:
    """Return how many there are of each kind, ``"2 events"``; nothing of a kind of which there is none."""
    return [f"{count} {kind}{'s' * (count > 1)}" for kind, count in handles.items() if count > 0]


def lines(blocks: dict[int, Taken]) -> list[str]:
    """Return what blocks there are, those that one line of the program took together, the largest first."""
    by_place: dict[tuple[int, str], list[int]] = collections.defaultdict(list)
    for address, block in blocks.items():
        by_place[block.device, sanitizing.origin(address) or "an unknown line"].append(block.bytes)
    places = sorted(by_place.items(), key=lambda item: -sum(item[1]))
    shown = [
        f"{sum(sizes)} bytes on cuda:{device} in {len(sizes)} block{'s' * (len(sizes) > 1)}, made at {line}"
        for (device, line), sizes in places[:MOST_LINES]
    ]
    rest = len(places) - len(shown)
    return [*shown, f"and by {rest} more lines"] if rest else shown


def report() -> None:
    """Say on stderr what is left at the end of a program."""
    gc.collect()
    left = [*lines(taken()), *counted(handles())]
    for line in left:
        started().native.note_found(settings.LEAK, f"left at the end: {line}")
    for line in left or ["nothing"]:
        print(f"morph: left at the end: {line}", file=sys.stderr)

"""The seam of the process that a test runs in."""

from __future__ import annotations

import functools

from morph.device.seam import Seam, open_seam


@functools.cache
def seam() -> Seam:
    """Returns the one native seam of this process, opened on first use."""
    opened = open_seam()
    assert opened.kind == "native"
    return opened


def engage(device_type: str) -> None:
    """Engages the seam."""
    seam().engage(device_type)


def disengage() -> None:
    """Disengages the seam."""
    seam().disengage()

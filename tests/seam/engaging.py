"""The seam of the process that a test runs in."""

import functools

from morph.device.seam import Seam, open_seam
from morph.device.seam.small import PythonSeam


@functools.cache
def seam() -> Seam:
    """Returns the one native seam of this process, opened on first use."""
    opened = open_seam()
    assert opened.kind == "native"
    return opened


@functools.cache
def python_seam() -> PythonSeam:
    """Returns a seam in Python, which is used where there is no compiler."""
    return PythonSeam()


SEAMS = {"native": seam, "python": python_seam}


def engage(kind: str, device_type: str) -> None:
    """Engages a seam."""
    SEAMS[kind]().engage(device_type)


def disengage(kind: str) -> None:
    """Disengages a seam."""
    SEAMS[kind]().disengage()

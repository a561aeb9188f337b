"""What a first start builds: all that later starts and their programs load."""

from __future__ import annotations

import contextlib

from morph import native
from morph.errors import MorphError
from morph.tables.table import Facts


def ensure(facts: Facts, *, simulated: bool = False) -> None:
    """Build everything in one go unless this backend's own part is there.

    A part that cannot be built is no error here: who loads it says so, or does without it.

    Args:
        facts: The backend's.
        simulated: Whether the software device stands for the vendor's.
    """
    needed = "software_device" if facts.software or simulated else "seam"
    if native.find(native.part(needed)) is None:
        with contextlib.suppress(MorphError):
            native.build(libraries(facts, simulated=simulated))


def libraries(facts: Facts, *, simulated: bool = False) -> list[native.Library]:
    """Return what a start on a backend, and the programs that it runs, may load, the slowest first.

    Args:
        facts: The backend's.
        simulated: Whether the software device stands for the vendor's.
    """
    from morph.kernels.extensions import toolkit
    from morph.kernels.libraries import loading

    parts = native.parts() if facts.software or simulated else ["seam"]
    against_torch = [native.part(name) for name in parts]
    extensions = [toolkit.assemble().library()] if facts.software else []
    return [*against_torch, *extensions, *loading.every(facts.name)]

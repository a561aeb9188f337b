"""The visible devices: CUDA's variable, copied to the vendor's before the vendor reads its own."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from morph.journal import Journal
from morph.tables.table import Facts

CUDA_VARIABLE = "CUDA_VISIBLE_DEVICES"


def hides_all() -> bool:
    """Return whether CUDA's variable hides every device, which is how users choose the CPU."""
    return os.environ.get(CUDA_VARIABLE) in ("", "-1")


def carry(facts: Facts, journal: Journal, report: Callable[[str], None]) -> None:
    """Set the vendor's variable from CUDA's, unless the user has chosen devices by the vendor's.

    Ray hides every device that a worker has not requested by its own name: all NPUs if it requested a GPU.

    Args:
        facts: The backend's facts.
        journal: Records the change of the environment, which children inherit.
        report: Called with one line if CUDA's variable names devices that only NVIDIA can have.
    """
    devices, own = os.environ.get(CUDA_VARIABLE), facts.visible_devices
    if not devices or not own or os.environ.get(own):
        return
    if re.fullmatch(r"\d+(,\d+)*", devices.replace(" ", "")):
        journal.set_item(os.environ, own, devices)
    else:
        report(f"{CUDA_VARIABLE}={devices} names no {facts.title} devices and is ignored; set {own}")

"""NVIDIA's management library for the active backend's devices: nvidia-ml-py's interface, served by morph.

A reading that the platform lacks raises ``NVMLError_NotSupported``, whose note gives the reason and what to
install.
"""

from __future__ import annotations

import ctypes
import re
from typing import Any

from . import (
    constants,
    declared,
    decorators,
    errors,
    identity,
    library,
    links,
    named,
    nvlink,
    pointers,
    processes,
    readings,
    structures,
    system,
)

_ANSWERING = (system, identity, readings, processes, links, nvlink, library)
_OTHERS = (constants, decorators, errors, pointers, structures)
_NVIDIAS = re.compile(r"_?(nvml|NVML|PrintableStructure|LoadNvml|convert|throw|libLoad)")


def _interface() -> dict[str, Any]:
    """Return all names of nvidia-ml-py; implemented functions replace the ones that are only declared."""
    names: dict[str, Any] = {name: value for name, value in vars(ctypes).items() if not name.startswith("_")}
    names |= constants.CONSTANTS | structures.STRUCTURES | errors.CLASSES
    names |= {name: declared.declared(name) for name in declared.FUNCTIONS}
    for module in (*_OTHERS, *_ANSWERING):
        names |= {name: value for name, value in vars(module).items() if _NVIDIAS.match(name)}
    return names | named.FUNCTIONS


def _publish(names: dict[str, Any]) -> None:
    """Make the names this module's own: set ``__module__``, which pickle and readers use, and define them."""
    for value in names.values():
        if str(getattr(value, "__module__", "")).startswith(f"{__name__}."):
            value.__module__ = __name__
    globals().update(names)


pointers.FUNCTIONS_OF_LIBRARY.update(_interface())
_publish(pointers.FUNCTIONS_OF_LIBRARY)

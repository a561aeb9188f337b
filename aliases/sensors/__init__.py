"""Readings of a running device: memory, load, temperature, power, processes.

Each backend has one source, which uses the vendor's own library or tool. ``pynvml`` and the sensor functions
of ``torch.cuda`` are served from here.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util

from morph import backends
from morph.aliases.sensors.origin import Source
from morph.aliases.sensors.reading import Device
from morph.base.errors import ActivationError


def source() -> Source:
    """Return the source of readings for the active backend's devices.

    Raises:
        ActivationError: If no backend is active.
        UnknownReadingError: If the library or tool is absent and nothing can be read without it.
    """
    backend = backends.active()
    if backend is None:
        raise ActivationError("no backend is active; call morph.activate() first")
    return _source(backend.name)


def device(index: int) -> Device:
    """Return the device with torch's index ``index``."""
    found = source()
    return found.devices()[found.position(index)]


@functools.cache
def _source(backend: str) -> Source:
    name = f"{__name__}.{backend}"
    if importlib.util.find_spec(name) is None:  # a backend from another distribution
        from morph.aliases.sensors.torch_device import TorchSource

        return TorchSource("torch", f"morph has no source of readings for backend {backend!r}")
    opened: Source = importlib.import_module(name).open_source()
    return opened

"""Natural ways to ask what a device is, each true on a CUDA machine: of the device, and a tensor on it."""

from __future__ import annotations

from tests.device.uses import calls, collections, statements, texts

PARTS = (texts, collections, calls, statements)
USES = {
    f"{part.__name__.rpartition('.')[2]}.{name}": use for part in PARTS for name, use in part.USES.items()
}

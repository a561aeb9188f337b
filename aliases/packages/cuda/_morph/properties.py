"""cudaDeviceProp and cudaPointerAttributes as Python objects."""

from __future__ import annotations

import struct
from typing import Any

from morph.kernels.libraries import numbers

FILE = "libcudart.so.13"
TEXTS = "name", "luid"
# the fields that hold one number of 8 bytes; others of 8 hold two of 4
LONG = {
    "totalGlobalMem",
    "sharedMemPerBlock",
    "memPitch",
    "totalConstMem",
    "textureAlignment",
    "texturePitchAlignment",
    "surfaceAlignment",
    "sharedMemPerMultiprocessor",
    "sharedMemPerBlockOptin",
    "reservedSharedMemPerBlock",
}


class cudaDeviceProp:
    """The properties of a device, by CUDA's names."""

    def __init__(self, block: Any) -> None:
        content = bytes(block)
        for field, place in numbers.layout(FILE).items():
            if field != "size":
                offset, size = place
                setattr(self, field, _value(field, content[offset : offset + size]))


class cudaPointerAttributes:
    """What an address is."""

    def __init__(self, block: Any) -> None:
        kind, device, self.devicePointer, self.hostPointer = struct.unpack_from("<iiQQ", bytes(block))
        self.type, self.device = kind, device


def _value(field: str, content: bytes) -> Any:
    if field in TEXTS:
        return content.rstrip(b"\0")
    if field == "uuid":
        return content
    if field in LONG:
        return int.from_bytes(content, "little")
    values = [value for (value,) in struct.iter_unpack("<i", content)]
    return values[0] if len(values) == 1 else values

"""CUDA's numbers: of errors and attributes, and what a device has for each."""

from __future__ import annotations

import functools
import itertools
import re
from typing import Any

from morph.backends.tables.library import LIBRARIES, Library
from morph.base import toml

DRIVER = 13000  # where torch names none


@functools.cache
def enumerators(kind: str) -> dict[str, int]:
    """Return the names and numbers of an enumeration of CUDA's, ``"cudaError_t"``."""
    values: dict[str, int] = _file("cuda")[kind]
    return values


def name(kind: str, number: int) -> str | None:
    """Return the name of a number of an enumeration, or None if there is none."""
    return _names(kind).get(number)


def words(code: int) -> str:
    """Return what an error code means, as CUDA says it; the driver's codes have the runtime's meaning."""
    found = _file("cuda")["words"].get(str(code))
    if found is None:
        known = name("cudaError_t", code) or name("CUresult", code)
        return known or "unrecognized error code"
    return str(found)


def version(file: str) -> int:
    """Return the version that a library reports: 12090 for ``libcudart.so.12``.

    torch's own where that is of the library's major version, else the major version.
    """
    import torch

    major = int(re.findall(r"\.so\.(\d+)", file)[0])
    of_torch = (torch.version.cuda or "").split(".")
    minor = int(of_torch[1]) if of_torch[0] == str(major) else {11: 8, 12: 9}.get(major, 0)
    return major * 1000 + minor * 10


def driver_version(runtime: int = 0) -> int:
    """Return the version of CUDA that the driver is for: torch's, or a later one that a runtime has."""
    import torch

    words = (torch.version.cuda or "").split(".")
    return max(runtime, int(words[0]) * 1000 + int(words[1]) * 10 if len(words) > 1 else 0) or DRIVER


def attributes(table: Library) -> dict[int, Any]:
    """Return what each attribute of a device is, by its number: a property, or a number."""
    known = enumerators("cudaDeviceAttr")
    return {known[f"cudaDevAttr{name}"]: value for name, value in table.facts["attributes"].items()}


def layout(file: str) -> dict[str, Any]:
    """Return where the fields of cudaDeviceProp lie: offset and bytes."""
    found: dict[str, Any] = _file("properties")[file]
    return found


def value(what: Any, properties: Any) -> int:
    """Return the number that an attribute or a field has on a device."""
    return int(getattr(properties, what)) if isinstance(what, str) else int(what)


def properties(device: int) -> Any:
    """Return the properties of a visible software device, or None if there is none of this number."""
    from morph.software.machine import started
    from morph.software.properties import of_number

    visible = started().visible.indices()
    return of_number(visible[device]) if 0 <= device < len(visible) else None


def bus(of: Any) -> str:
    """Return the PCI bus id of a device's properties."""
    return f"{of.pci_domain_id:04x}:{of.pci_bus_id:02x}:{of.pci_device_id:02x}.0"


def device_of_bus(wanted: str) -> int | None:
    """Return the number of the visible device with a PCI bus id."""
    place = re.fullmatch(r"(?:([0-9a-fA-F]+):)?([0-9a-fA-F]+):([0-9a-fA-F]+)(?:\.0)?", wanted)
    if place is None:
        return None
    domain, number, slot = (int(each or "0", 16) for each in place.groups())
    for index in itertools.count():
        found = properties(index)
        if found is None or (found.pci_domain_id, found.pci_bus_id, found.pci_device_id) == (
            domain,
            number,
            slot,
        ):
            return index if found else None
    return None


@functools.cache
def _names(kind: str) -> dict[int, str]:
    return {number: name for name, number in reversed(enumerators(kind).items())}


@functools.cache
def _file(name: str) -> dict[str, Any]:
    return toml.loads((LIBRARIES / "numbers" / f"{name}.toml").read_text(encoding="utf-8"))

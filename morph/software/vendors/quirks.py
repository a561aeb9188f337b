"""The differences between the vendors' devices beyond their recorded names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from morph.software.devices import DeviceProperties

if TYPE_CHECKING:
    from morph.base.journal import Journal
    from morph.software.machine import Machine


# Vendors whose names behave in ways that a surface does not record.
OF_VENDORS = {
    "cpu": "morph.software.cuda:QUIRKS",
    "mlu": "morph.software.vendors.mlu:QUIRKS",
    "musa": "morph.software.vendors.musa:QUIRKS",
    "npu": "morph.software.vendors.npu:QUIRKS",
    "rocm": "morph.software.cuda:HIP_QUIRKS",
    "tpu": "morph.software.vendors.tpu:QUIRKS",
    "xpu": "morph.software.xpu:QUIRKS",
}


def _nothing(modules: Mapping[str, ModuleType]) -> None:
    return None


class Quirks(NamedTuple):
    """The properties of a vendor's device and package that the surface does not record.

    Attributes:
        title: The device in error messages, ``"NPU"``.
        properties: Returns the properties that the vendor reports of a device with that many bytes.
        padding: Bytes that the vendor's allocator adds to each request.
        channels_last: Whether tensors may be put into that order on the device.
        float64: Whether a cast to float64 on the device is one.
        amp_dtypes: Names of the dtypes that autocast may use.
        names: Values of the vendor's own, by bare name, or by dotted name where a bare one is not enough.
        parts: Modules that define more of them, as the device's own modules do.
        package: Further objects by dotted name, below the vendor's package or in torch.
        homes: A module's recorded name to its own, where it can be imported under its own only.
        flags: A module's recorded name to the class that its flags are members of.
        architectures: Of the kernels that torch.cuda is said to be built with, separated by spaces.
        late: Dotted names that the vendor binds when the device is used first.
        place: Puts the vendor's module where torch has one of its own; else its surface makes it.
        patch: Changes in torch what importing the vendor's package does; takes the modules by recorded name.
    """

    title: str
    properties: Callable[[int], DeviceProperties] = DeviceProperties
    padding: int = 0
    channels_last: bool = True
    float64: bool = True
    amp_dtypes: tuple[str, ...] = ("float16", "bfloat16")
    names: Mapping[str, Any] = MappingProxyType({})
    parts: tuple[ModuleType, ...] = ()
    package: Mapping[str, Any] = MappingProxyType({})
    homes: Mapping[str, str] = MappingProxyType({})
    flags: Mapping[str, Callable[[ModuleType, str], ModuleType]] = MappingProxyType({})
    architectures: str = ""
    late: frozenset[str] = frozenset()
    place: Callable[[Machine, Journal], None] | None = None
    patch: Callable[[Mapping[str, ModuleType]], None] = _nothing

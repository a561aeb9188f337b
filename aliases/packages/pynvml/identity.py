"""The devices and their identities."""

from __future__ import annotations

import importlib
from typing import Any

from morph.aliases.sensors.reading import Device, PciAddress, UnknownReadingError

from .constants import CONSTANTS
from .errors import fail
from .library import devices, handle_of, index_of, of_device, text, torch_index_of
from .structures import STRUCTURES

_UNKNOWN_ARCHITECTURE = CONSTANTS["NVML_DEVICE_ARCH_UNKNOWN"]
NO_DOMAIN = 0xFFFF  # a PCI domain that no bus of a machine has
_UUID_PREFIX = "GPU-"


def nvmlDeviceGetCount() -> int:
    """Return the number of devices, including those hidden from torch."""
    return len(devices())


def nvmlDeviceGetCount_v2() -> int:
    """Return what ``nvmlDeviceGetCount`` returns."""
    return nvmlDeviceGetCount()


def nvmlDeviceGetHandleByIndex(index: int) -> Any:
    """Return the handle of the device with an index, which is independent of masks.

    Raises:
        NVMLError_InvalidArgument: If there is none.
    """
    return handle_of(index)


def nvmlDeviceGetHandleByIndex_v2(index: int) -> Any:
    """Return what ``nvmlDeviceGetHandleByIndex`` returns."""
    return handle_of(index)


def nvmlDeviceGetHandleByUUID(uuid: str | bytes) -> Any:
    """Return the handle of the device with a UUID, with or without the prefix ``"GPU-"``.

    Raises:
        NVMLError_NotFound: If there is none.
    """
    wanted = text(uuid).removeprefix(_UUID_PREFIX)
    return _found(lambda device: device.uuid() == wanted)


def nvmlDeviceGetHandleByPciBusId(pciBusId: str | bytes) -> Any:
    """Return the handle of the device at a PCI address, ``"0000:C1:00.0"``.

    Raises:
        NVMLError_InvalidArgument: If it is not a PCI address.
        NVMLError_NotFound: If there is none.
    """
    try:
        wanted = PciAddress.parse(text(pciBusId))
    except ValueError as error:
        fail("INVALID_ARGUMENT", str(error))
    for index in range(len(devices())):
        if _place(index) == wanted:
            return handle_of(index)
    fail("NOT_FOUND")


def nvmlDeviceGetHandleByPciBusId_v2(pciBusId: str | bytes) -> Any:
    """Return what ``nvmlDeviceGetHandleByPciBusId`` returns."""
    return nvmlDeviceGetHandleByPciBusId(pciBusId)


def nvmlDeviceGetHandleBySerial(serial: str | bytes) -> Any:
    """Return the handle of the device whose board has a serial number.

    Raises:
        NVMLError_NotFound: If there is none.
    """
    wanted = text(serial)
    return _found(lambda device: device.serial() == wanted)


def nvmlDeviceGetIndex(handle: Any) -> int:
    """Return the index of a handle's device."""
    return index_of(handle)


@of_device
def nvmlDeviceGetName(handle: Any) -> str:
    """Return the product's name."""
    return str(handle.name())


@of_device
def nvmlDeviceGetUUID(handle: Any) -> str:
    """Return the UUID, ``"GPU-..."``."""
    return f"{_UUID_PREFIX}{handle.uuid()}"


@of_device
def nvmlDeviceGetSerial(handle: Any) -> str:
    """Return the board's serial number."""
    return str(handle.serial())


@of_device
def nvmlDeviceGetVbiosVersion(handle: Any) -> str:
    """Return the version of the board's firmware."""
    return str(handle.firmware())


@of_device
def nvmlDeviceGetBrand(handle: Any) -> int:
    """Return ``NVML_BRAND_UNKNOWN``: the brands are NVIDIA's."""
    return int(CONSTANTS["NVML_BRAND_UNKNOWN"])


@of_device
def nvmlDeviceGetArchitecture(device: Any) -> int:
    """Return ``NVML_DEVICE_ARCH_UNKNOWN``: the architectures are NVIDIA's."""
    return int(_UNKNOWN_ARCHITECTURE)


@of_device
def nvmlDeviceGetComputeMode(handle: Any) -> int:
    """Return ``NVML_COMPUTEMODE_DEFAULT``: any number of processes may use a device."""
    return int(CONSTANTS["NVML_COMPUTEMODE_DEFAULT"])


def nvmlDeviceGetCudaComputeCapability(handle: Any) -> tuple[int, int]:
    """Return the compute capability that ``torch.cuda.get_device_capability`` returns on this backend."""
    cuda = importlib.import_module("torch").cuda
    major, minor = cuda.get_device_capability(torch_index_of(handle))
    return major, minor


@of_device
def nvmlDeviceGetNumGpuCores(device: Any) -> int:
    """Return the number of cores, as the vendor counts them."""
    return int(device.cores())


def nvmlDeviceGetPciInfo(handle: Any) -> Any:
    """Return the PCI address and the PCI device and vendor numbers, as an ``nvmlPciInfo_t``.

    Most tools do not handle an error here: an unknown address is returned as one in ``NO_DOMAIN``.
    """
    index = index_of(handle)
    place = _place(index)
    info = STRUCTURES["nvmlPciInfo_t"]()
    info.domain, info.bus, info.device = place.domain, place.bus, place.device
    info.busIdLegacy = f"{place.domain:04X}:{place.bus:02X}:{place.device:02X}.{place.function}"
    info.busId = f"{place.domain:08X}:{place.bus:02X}:{place.device:02X}.{place.function}"
    try:
        info.pciDeviceId, info.pciSubSystemId = devices()[index].pci_ids()
    except UnknownReadingError:  # zero, as NVML reports a number that a board lacks
        pass
    return info


def nvmlDeviceGetPciInfo_v3(handle: Any) -> Any:
    """Return what ``nvmlDeviceGetPciInfo`` returns."""
    return nvmlDeviceGetPciInfo(handle)


@of_device
def nvmlDeviceIsMigDeviceHandle(device: Any) -> int:
    """Return 0: no device here is a partition of another."""
    return 0


@of_device
def nvmlDeviceGetMaxMigDeviceCount(device: Any) -> int:
    """Return 0: no device here can be partitioned."""
    return 0


def _place(index: int) -> PciAddress:
    try:
        return devices()[index].pci()
    except UnknownReadingError:
        return PciAddress(NO_DOMAIN, index, 0)


def _found(matches: Any) -> Any:
    for index, device in enumerate(devices()):
        if _known(matches, device):
            return handle_of(index)
    fail("NOT_FOUND")


def _known(matches: Any, device: Device) -> bool:
    try:
        return bool(matches(device))
    except UnknownReadingError:
        return False

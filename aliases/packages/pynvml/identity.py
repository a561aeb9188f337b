"""The devices and their identities."""

from __future__ import annotations

import importlib
from typing import Any

from morph.aliases.sensors.reading import Device, PciAddress, UnknownReadingError

from .errors import fail
from .library import devices, handle_of, index_of, of_device, text, torch_index_of
from .structures import STRUCTURES

NO_DOMAIN = 0xFFFF  # a PCI domain that no bus of a machine has
UUID_PREFIX = "GPU-"


def nvmlDeviceGetCount() -> int:
    """Return the number of devices, including those hidden from torch."""
    return len(devices())


def nvmlDeviceGetHandleByIndex(index: int) -> Any:
    """Return the handle of the device with an index, which is independent of masks.

    Raises:
        NVMLError_InvalidArgument: If there is none.
    """
    return handle_of(index)


def nvmlDeviceGetHandleByUUID(uuid: str | bytes) -> Any:
    """Return the handle of the device with a UUID, with or without the prefix ``"GPU-"``.

    Raises:
        NVMLError_NotFound: If there is none.
    """
    wanted = text(uuid).removeprefix(UUID_PREFIX)
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


def nvmlDeviceGetHandleBySerial(serial: str | bytes) -> Any:
    """Return the handle of the device whose board has a serial number.

    Raises:
        NVMLError_NotFound: If there is none.
    """
    wanted = text(serial)
    return _found(lambda device: device.serial() == wanted)


@of_device
def nvmlDeviceGetMigDeviceHandleByIndex(device: Any, index: int) -> Any:
    """Raise ``NVMLError_NotFound``: no device is divided; ``NVMLError_NotSupported`` if none could be."""
    device.mig_enabled()
    fail("NOT_FOUND", f"there is no instance {index}: morph divides no device")


def nvmlDeviceGetIndex(handle: Any) -> int:
    """Return the index of a handle's device."""
    return index_of(handle)


def nvmlDeviceGetCudaComputeCapability(handle: Any) -> tuple[int, int]:
    """Return the compute capability that ``torch.cuda.get_device_capability`` returns on this backend.

    torch, which then uses a device, is asked only where the platform does not report it.
    """
    try:
        return devices()[index_of(handle)].capability()
    except UnknownReadingError:
        cuda = importlib.import_module("torch").cuda
        major, minor = cuda.get_device_capability(torch_index_of(handle))
        return major, minor


def nvmlDeviceGetPciInfo(handle: Any) -> Any:
    """Return the PCI address and the PCI device and vendor numbers, as an ``nvmlPciInfo_t``.

    Most tools do not handle an error here: an unknown address is returned as one in ``NO_DOMAIN``.
    """
    index = index_of(handle)
    info = pci_info(_place(index))
    try:
        info.pciDeviceId, info.pciSubSystemId = devices()[index].pci_ids()
    except UnknownReadingError:  # zero, as NVML reports a number that a board lacks
        pass
    return info


def pci_info(place: PciAddress) -> Any:
    """Return an address as an ``nvmlPciInfo_t``, whose other numbers are 0."""
    info = STRUCTURES["nvmlPciInfo_t"]()
    info.domain, info.bus, info.device = place.domain, place.bus, place.device
    info.busIdLegacy = f"{place.domain:04X}:{place.bus:02X}:{place.device:02X}.{place.function}"
    info.busId = f"{place.domain:08X}:{place.bus:02X}:{place.device:02X}.{place.function}"
    return info


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

"""NVLink, of devices that stand for cards that have it."""

from __future__ import annotations

from typing import Any

from morph.aliases.sensors.reading import Links

from .constants import CONSTANTS
from .errors import fail
from .identity import pci_info
from .library import of_device

_MOST = CONSTANTS["NVML_NVLINK_MAX_LINKS"]
_CAPABILITIES = CONSTANTS["NVML_NVLINK_CAP_COUNT"]


@of_device
def nvmlDeviceGetNvLinkState(device: Any, link: int) -> int:
    """Return ``NVML_FEATURE_ENABLED``: every link that the board has is active."""
    _checked(device, link)
    return int(CONSTANTS["NVML_FEATURE_ENABLED"])


@of_device
def nvmlDeviceGetNvLinkVersion(device: Any, link: int) -> int:
    """Return the version of NVLink, one of ``NVML_NVLINK_VERSION_...``."""
    version = _checked(device, link).version.replace(".", "_")
    return int(CONSTANTS[f"NVML_NVLINK_VERSION_{version}"])


@of_device
def nvmlDeviceGetNvLinkCapability(device: Any, link: int, capability: int) -> int:
    """Return whether a link has a capability.

    As NVIDIA's driver does, it answers for links that the board lacks, up to ``NVML_NVLINK_MAX_LINKS``
    (NVIDIA/TensorRT-LLM#19210).

    Args:
        device: The device's handle.
        link: The link's number.
        capability: One of ``NVML_NVLINK_CAP_...``.
    """
    links = device.links()
    if not 0 <= link < _MOST or not 0 <= capability < _CAPABILITIES:
        fail("INVALID_ARGUMENT", f"there is no link {link}, or no capability {capability}")
    lacking = {CONSTANTS[f"NVML_NVLINK_CAP_{name}"] for name in links.lacks}
    return int(link < links.count and capability not in lacking)


@of_device
def nvmlDeviceGetNvLinkRemotePciInfo(device: Any, link: int) -> Any:
    """Return the place of the switch that a link leads to, as an ``nvmlPciInfo_t``."""
    return pci_info(_checked(device, link).remote(link))


@of_device
def nvmlDeviceGetNvLinkRemoteDeviceType(handle: Any, link: int) -> int:
    """Return ``NVML_NVLINK_DEVICE_TYPE_SWITCH``: every link leads to a switch."""
    _checked(handle, link)
    return int(CONSTANTS["NVML_NVLINK_DEVICE_TYPE_SWITCH"])


def _checked(device: Any, link: int) -> Links:
    """Return the device's links, of which ``link`` is one."""
    links: Links = device.links()
    if not 0 <= link < links.count:
        fail("INVALID_ARGUMENT", f"there is no link {link}; there are {links.count}")
    return links

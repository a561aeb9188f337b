"""The connections of a device: PCIe, other devices and nearby processors."""

from __future__ import annotations

import importlib
import os
import pathlib
from typing import Any

from morph.aliases.sensors.reading import UnknownReadingError

from .constants import CONSTANTS
from .errors import fail
from .library import devices, index_of, of_device, source, torch_index_of, unsupported_if_unknown
from .structures import TYPES

_NODES = pathlib.Path("/sys/devices/system/node")
_BITS = 64
_OVER_NVLINK = CONSTANTS["NVML_P2P_CAPS_INDEX_NVLINK"], CONSTANTS["NVML_P2P_CAPS_INDEX_ATOMICS"]
_BELOW_ONE_SWITCH = 2  # the switch's port, and the device behind it


@of_device
def nvmlDeviceGetPcieThroughput(device: Any, counter: int) -> int:
    """Return the PCIe traffic in KiB per second.

    Args:
        device: The device's handle.
        counter: ``NVML_PCIE_UTIL_TX_BYTES`` for what the device sends, ``..._RX_BYTES`` for what it receives,
            ``NVML_PCIE_UTIL_COUNT``, which NVIDIA's driver takes too, for both.
    """
    sent, received, both = (CONSTANTS[f"NVML_PCIE_UTIL_{way}"] for way in ("TX_BYTES", "RX_BYTES", "COUNT"))
    if counter not in (sent, received, both):
        fail("INVALID_ARGUMENT", f"there is no counter {counter}")
    ways = {sent: [True], received: [False]}.get(counter, [True, False])
    return sum(device.pcie_throughput(sent=way) for way in ways)


def nvmlDeviceGetP2PStatus(device1: Any, device2: Any, p2pIndex: int) -> int:
    """Return ``NVML_P2P_STATUS_OK`` if a device can access the other's memory, which torch may have to tell.

    Args:
        device1: A device's handle.
        device2: Another device's handle.
        p2pIndex: ``NVML_P2P_CAPS_INDEX_READ`` or ``..._WRITE``: whether they can access each other;
            ``..._NVLINK`` or ``..._ATOMICS``: whether NVLink connects them.
    """
    first, second = (devices()[index_of(handle)] for handle in (device1, device2))
    access = p2pIndex in (0, CONSTANTS["NVML_P2P_CAPS_INDEX_WRITE"])
    if _reachable(device1, device2) if access else p2pIndex in _OVER_NVLINK and first.linked(second):
        status = "OK"
    else:
        status = "GPU_NOT_SUPPORTED" if access and index_of(device1) != index_of(device2) else "NOT_SUPPORTED"
    return int(CONSTANTS[f"NVML_P2P_STATUS_{status}"])


def _reachable(device1: Any, device2: Any) -> bool:
    """Return whether a device can access the other's memory; torch's answer, which uses one, comes last."""
    try:
        return devices()[index_of(device1)].reaches(devices()[index_of(device2)])
    except UnknownReadingError:
        cuda = importlib.import_module("torch").cuda
        return bool(cuda.can_device_access_peer(torch_index_of(device1), torch_index_of(device2)))


def nvmlDeviceGetTopologyCommonAncestor(device1: Any, device2: Any) -> int:
    """Return the kernel's distance of two devices on the PCI bus, one of ``NVML_TOPOLOGY_...``."""
    first, second = (devices()[index_of(handle)] for handle in (device1, device2))
    with unsupported_if_unknown():
        ways = (device.pci_folder().resolve().parts for device in (first, second))
        nearness = _nearness(*ways, same_node=first.numa_node() == second.numa_node())
        return int(CONSTANTS[f"NVML_TOPOLOGY_{nearness}"])


@of_device
def nvmlDeviceGetCpuAffinity(handle: Any, cpuSetSize: int) -> Any:
    """Return the processors near the device as a bit mask.

    Args:
        handle: The device's handle.
        cpuSetSize: The number of 64-bit words to return.
    """
    return _bits(_processors(handle.numa_node()), cpuSetSize)


@of_device
def nvmlDeviceGetCpuAffinityWithinScope(handle: Any, cpuSetSize: int, scope: int) -> Any:
    """Return what ``nvmlDeviceGetCpuAffinity`` returns: the NUMA node is the only known scope."""
    return _bits(_processors(handle.numa_node()), cpuSetSize)


@of_device
def nvmlDeviceGetMemoryAffinity(handle: Any, nodeSetSize: int, scope: int) -> Any:
    """Return the NUMA node near the device as a bit mask of ``nodeSetSize`` 64-bit words."""
    return _bits({handle.numa_node()}, nodeSetSize)


@of_device
def nvmlDeviceSetCpuAffinity(handle: Any) -> None:
    """Make this thread run on the processors near the device."""
    os.sched_setaffinity(0, _processors(handle.numa_node()))


def nvmlDeviceClearCpuAffinity(handle: Any) -> None:
    """Make this thread run on all processors again."""
    index_of(handle)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))


def _nearness(first: tuple[str, ...], second: tuple[str, ...], *, same_node: bool) -> str:
    """Return the distance of two nodes in the kernel's device tree.

    >>> _nearness(("pci0000:00", "0000:01:00.0"), ("pci0000:00", "0000:02:00.0"), same_node=True)
    'HOSTBRIDGE'
    """
    if first == second:
        return "INTERNAL"
    shared = os.path.commonprefix([first, second])
    if not shared or not any(part.startswith("pci") for part in shared):
        return "NODE" if same_node else "SYSTEM"
    if shared[-1].startswith("pci"):
        return "HOSTBRIDGE"
    below = max(len(first), len(second)) - len(shared)
    return "SINGLE" if below <= _BELOW_ONE_SWITCH else "MULTIPLE"


def _processors(node: int) -> set[int]:
    """Return the processors of a NUMA node, or all processors for -1, which means none in the kernel."""
    if node < 0:
        return set(range(os.cpu_count() or 1))
    source()
    with unsupported_if_unknown():
        file = _NODES / f"node{node}" / "cpulist"
        if not file.exists():
            fail("NOT_SUPPORTED", f"the system does not tell the processors of NUMA node {node}")
        return _ranges(file.read_text().strip())


def _ranges(text: str) -> set[int]:
    """Return the numbers in a list of ranges such as ``0-3,8``."""
    bounds = (part.partition("-") for part in text.split(",") if part)
    return {number for low, _, high in bounds for number in range(int(low), int(high or low) + 1)}


def _bits(numbers: set[int], words: int) -> Any:
    array = (TYPES["c_ulonglong"] * words)()
    for number in numbers:
        if number < words * _BITS:
            array[number // _BITS] |= 1 << (number % _BITS)
    return array

"""The devices of a process: torch_tpu gives each process one of a host's TPUs, and no process another's."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch

from morph.aliases.adapters import capability, properties
from morph.backends import vendor_module

initialized = True


def device_count(target: Callable[[], int]) -> int:
    """Implement ``torch.cuda.device_count()``.

    Args:
        target: torch_tpu's function, which counts the TPUs of the host.

    Returns:
        The TPUs of the host in a process that a launcher has started (which sets ``LOCAL_RANK``), since each
        has its own; else 1 where the host has any, since a process on its own cannot use more.
    """
    count = target()
    return count if "LOCAL_RANK" in os.environ else min(count, 1)


def get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """Implement ``torch.cuda._utils._get_device_index``.

    Raises:
        ValueError: If the device is none of CUDA's, or has no index where one is asked for.
    """
    cuda: Any = torch.cuda
    if isinstance(device, (torch.cuda.device, cuda.device_of)):
        return int(vars(device)["_idx"])
    index: int = torch._utils._get_device_index(device, optional, allow_cpu)
    return index


def get_device(device: Any) -> torch.device:
    """Implement ``torch.cuda._get_device(device)``."""
    return torch.device("cuda", get_device_index(device))


def set_device(target: Callable[[int], None], device: Any) -> None:
    """Implement ``torch.cuda.set_device(device)``.

    Args:
        target: torch_tpu's function, which refuses each device but the process's own.
        device: The device; a negative index changes nothing.
    """
    index = get_device_index(device)
    if index >= 0:
        target(index)


def get_device_name(target: Callable[[Any], str], device: Any = None) -> str:
    """Implement ``torch.cuda.get_device_name(device)``.

    Raises:
        AssertionError: If there is no such device.
    """
    _refuse_unless_there(device)
    return target(device)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Return (8, 0): a TPU computes in bfloat16, and has none of the kernels of later GPUs.

    Raises:
        AssertionError: If there is no such device.
    """
    _refuse_unless_there(device)
    return capability.WITH_BFLOAT16


def get_device_properties(target: Callable[[Any], Any], device: Any = None) -> properties.DeviceProperties:
    """Implement ``torch.cuda.get_device_properties(device)``.

    Raises:
        AssertionError: If there is no such device.
        RuntimeError: If torch_tpu does not know the generation of the TPU.
    """
    _refuse_unless_there(device)
    index = get_device_index(device, optional=True)
    return properties.DeviceProperties(target(device), capability.WITH_BFLOAT16, index)


def lazy_init() -> None:
    """Implement ``torch.cuda._lazy_init()``."""
    vendor_module()._lazy_init()


def lazy_call(callable: Callable[[], object], **kwargs: bool) -> None:
    """Implement ``torch.cuda._lazy_call``: call it now, for the device is there once torch_tpu is loaded."""
    lazy_init()
    callable()


def _refuse_unless_there(device: Any) -> None:
    index = get_device_index(device, optional=True)
    if not 0 <= index < torch.cuda.device_count():
        raise AssertionError("Invalid device id")

"""The devices of a process: torch_tpu gives each process one of a host's TPUs, and no process another's."""

from __future__ import annotations

import functools
import os
import posix
from collections.abc import Callable
from typing import Any

import torch

from morph.aliases.adapters import capability, properties
from morph.backends import vendor_module

initialized = True


def own_index() -> int:
    """Return the number under which CUDA's names know the TPU of this process: ``LOCAL_RANK``, else 0.

    torch_tpu gives each process one TPU of its host and numbers it 0 in all of them.
    """
    return int(posix.environ.get(b"LOCAL_RANK") or 0)  # where os.environ keeps it, and 30 times as fast


@functools.cache
def directly(target: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of torch_tpu's without its look at who calls it, which takes 400 ns (0.2.0)."""
    plain = getattr(target, "__wrapped__", None)
    return target if plain is None else functools.partial(plain, getattr(target, "__self__", None))


def current_device() -> int:
    """Implement ``torch.cuda.current_device()``."""
    return own_index()


def device_count(target: Callable[[], int]) -> int:
    """Implement ``torch.cuda.device_count()``.

    Args:
        target: torch_tpu's function, which counts the TPUs of the host until it has started, then its own.

    Returns:
        The processes of the host in one that a launcher has started, as each has a TPU; else 1 where the
        host has any, since a process on its own cannot use more.
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ.get("LOCAL_WORLD_SIZE", own_index() + 1))
    return min(target(), 1)


def get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """Implement ``torch.cuda._utils._get_device_index``.

    Raises:
        ValueError: If the device is none of CUDA's, or has no index where one is asked for.
    """
    if device is None and optional:  # asked by every current_stream() and synchronize()
        return own_index()
    cuda: Any = torch.cuda
    if isinstance(device, (torch.cuda.device, cuda.device_of)):
        return int(device.idx)
    named = torch.device(device) if isinstance(device, str) else device
    index: int = torch._utils._get_device_index(named, optional, allow_cpu)
    is_own = named is None or (isinstance(named, torch.device) and named.type == "tpu")
    return own_index() if is_own else index


def get_device(device: Any) -> torch.device:
    """Implement ``torch.cuda._get_device(device)``."""
    return torch.device("cuda", get_device_index(device))


def set_device(device: Any) -> None:
    """Implement ``torch.cuda.set_device(device)``, which can choose the process's own device alone.

    Args:
        device: The device; a negative index changes nothing.

    Raises:
        ValueError: If it is another process's device.
    """
    exchange_device(get_device_index(device))


def exchange_device(device: int) -> int:
    """Implement ``torch.cuda._exchange_device(device)``.

    Returns:
        The number of the process's own device; -1 if ``device`` is negative.

    Raises:
        ValueError: If it is another process's device.
    """
    return -1 if device < 0 else refuse_unless_own(device)


def refuse_unless_own(device: Any) -> int:
    """Return the number of the process's own device.

    Args:
        device: It, or None.

    Raises:
        RuntimeError: If there is no such device.
        ValueError: If it is another process's device.
    """
    index, own = get_device_index(device, optional=True), own_index()
    if index != own:
        if not 0 <= index < torch.cuda.device_count():
            raise RuntimeError(f"CUDA error: invalid device ordinal: there is no cuda:{index}")
        raise ValueError(f"cuda:{index} is another process's TPU: this process has cuda:{own} alone")
    return own


def maybe_exchange_device(device: int) -> int:
    """Do the same as ``exchange_device``; Dynamo distinguishes torch.cuda's two functions by identity."""
    return exchange_device(device)


def get_device_name(target: Callable[[Any], str], device: Any = None) -> str:
    """Implement ``torch.cuda.get_device_name(device)``.

    Raises:
        AssertionError: If there is no such device.
    """
    _refuse_unless_there(device)
    return target(0)


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
    return properties.DeviceProperties(target(0), capability.WITH_BFLOAT16, index)


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

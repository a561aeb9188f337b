"""The names in ``torch._C`` of a torch built for CUDA or for ROCm."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

import torch

from morph.device import collectives
from morph.software import devices, generators, properties
from morph.software import graphs as captured
from morph.software.cuda import cudart, graphs, libraries, memory, questions, streams
from morph.software.machine import Machine, started

COLLECTIVES = "all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter"
COLLECTIVES_VERSION = 2 << 32 | 22 << 16 | 3
UNIQUE_ID = 128  # bytes of NCCL's
WATCHED = {"default": 0, "warn": 1, "error": 2}


def names(machine: Machine) -> dict[str, Any]:
    """Return the names of ``torch._C``, with what each is.

    Args:
        machine: The simulated machine.
    """
    return {
        "_has_cuda": True,
        "_cuda_init": initialise,
        "_cuda_isInBadFork": devices._is_in_bad_fork,
        "_cuda_getArchFlags": lambda: _architectures(machine),
        "_CudaDeviceProperties": properties.DeviceProperties,
        "_nccl_version": lambda: COLLECTIVES_VERSION,
        "_nccl_version_suffix": lambda: b"",
        "_nccl_unique_id": lambda: os.urandom(UNIQUE_ID),
        **{f"_nccl_{name}": getattr(collectives, name) for name in COLLECTIVES},
        **_devices(machine),
        **_streams(),
        **cudart.names(),
        **libraries.settings(machine.native),
        **memory.names(machine),
        **questions.names(),
    }


def _architectures(machine: Machine) -> str:
    """Return those that torch's kernels are said to be built for, among them the one of the card."""
    known = machine.quirks.architectures.split()
    own = f"sm_{machine.card.capability}" if machine.card and machine.facts.software else known[0]
    return " ".join(dict.fromkeys([*known, own]))


def initialise() -> None:
    """Implement ``torch._C._cuda_init``: use the device, and set in torch.cuda what torch's C++ sets."""
    machine = started()
    count = machine.count  # what the environment says now, for the last time
    if not count:
        raise RuntimeError("No CUDA GPUs are available")
    machine.native.initialize()
    module: Any = sys.modules["torch.cuda"]
    module = getattr(module, "__wrapped__", module)  # a rehearsal records what is asked of it
    module.default_generators = generators.values(machine)["default_generators"][:count]
    module._get_device_properties = properties.of_device


def _devices(machine: Machine) -> dict[str, Any]:
    return {
        "_cuda_getDeviceCount": lambda: machine.count,
        "_cuda_getDevice": machine.native.current_device,
        "_cuda_setDevice": set_device,
        "_cuda_exchangeDevice": exchange_device,
        "_cuda_maybeExchangeDevice": maybe_exchange_device,
        "_cuda_hasPrimaryContext": machine.native.has_context,
        "_cuda_canDeviceAccessPeer": devices.can_device_access_peer,
        "_cuda_synchronize": devices.synchronize,
        "_cuda_sleep": sleep,
        "_cuda_set_sync_debug_mode": set_sync_debug_mode,
        "_cuda_get_sync_debug_mode": machine.native.watched_waits,
    }


def _streams() -> dict[str, Any]:
    return {
        "_CudaStreamBase": streams.StreamBase,
        "_CudaEventBase": streams.EventBase,
        "_cuda_getCurrentStream": streams.current,
        "_cuda_getDefaultStream": streams.default,
        "_cuda_getCurrentRawStream": lambda index: streams.current(index)[0],
        "_cuda_getStreamFromExternal": streams.from_handle,
        "_cuda_setStream": streams.set_current,
        "_CUDAGraph": graphs.GraphBase,
        "_graph_pool_handle": captured.graph_pool_handle,
        "_cuda_isCurrentStreamCapturing": captured.is_current_stream_capturing,
    }


def set_device(index: int) -> None:
    """Implement ``torch._C._cuda_setDevice``, which uses CUDA, as choosing a device does."""
    cuda: Any = torch.cuda
    cuda._lazy_init()
    devices.set_device(index)


def exchange_device(index: int) -> int:
    """Implement ``torch._C._cuda_exchangeDevice``: make a device current, and return the one before."""
    previous = devices.current_device()
    if index >= 0:
        set_device(index)
    return previous if index >= 0 else -1


def maybe_exchange_device(index: int) -> int:
    """Implement ``torch._C._cuda_maybeExchangeDevice``; Dynamo knows it and the other apart."""
    return exchange_device(index)


def sleep(cycles: int) -> None:
    """Implement ``torch._C._cuda_sleep``, whose argument is an ``int``."""
    if not isinstance(cycles, int):
        raise RuntimeError("torch.cuda._sleep(): expected 'int'")
    devices._sleep(cycles)


def set_sync_debug_mode(mode: int | str) -> None:
    """Implement ``torch._C._cuda_set_sync_debug_mode``: whether the host's waits warn or raise."""
    warnings.warn(
        "Synchronization debug mode is a prototype feature and does not yet detect all "
        "synchronizing operations",
        stacklevel=3,
    )
    if not isinstance(mode, (int, str)):
        raise RuntimeError("invalid argument to set_sync_debug_mode")
    level = WATCHED.get(mode, -1) if isinstance(mode, str) else mode
    if level not in WATCHED.values():
        raise RuntimeError("invalid value of debug_mode, expected one of 0,1,2")
    started().native.watch_waits(level)

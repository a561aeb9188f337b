"""The vendor's collectives on the simulated device: gloo, on the memory that host and device share."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from morph.simulator.machine import Machine, library, started


def register(machine: Machine) -> None:
    """Makes ``init_process_group`` know the vendor's backend name, ``"hccl"``."""
    import torch.distributed as dist

    if dist.is_available() and dist.is_gloo_available():
        dist.Backend.register_backend(machine.facts.collective, _create, devices=[machine.device_type])


def _create(store: Any, rank: int, size: int, timeout: timedelta) -> Any:
    import torch.distributed as dist

    gloo = dist.ProcessGroupGloo(store, rank, size, timeout)
    return library("collective").over(gloo, started().facts.collective)

"""The vendor's collectives on the software device: gloo, on the memory that host and device share."""

from __future__ import annotations

import atexit
import functools
import os
from datetime import timedelta
from typing import Any

from morph.software import faults
from morph.software import machine as machines
from morph.software.machine import Machine, started


class GroupType(type):
    """The type of the vendor's process-group class: an instance is any backend of that name."""

    def __instancecheck__(cls, instance: object) -> bool:
        import torch.distributed as dist

        if not isinstance(instance, dist.Backend) and hasattr(instance, "name"):
            return bool(instance.name() == started().facts.collective)
        return False


class ProcessGroup(metaclass=GroupType):
    """The vendor's process-group class, for its Options and for isinstance."""

    class Options:
        """Options of a process group, none of which makes a difference here."""

        def __init__(self, is_high_priority_stream: bool = False) -> None:
            self.is_high_priority_stream = is_high_priority_stream
            self.global_ranks_in_group: list[int] = []
            self.group_name = ""


def register(machine: Machine) -> None:
    """Make ``init_process_group`` know the vendor's backend, ``"hccl"``."""
    import torch.distributed as dist

    facts = machine.facts
    if dist.is_available() and dist.is_gloo_available():
        dist.Backend.register_backend(facts.collective, create, devices=[machine.device_type])


def group_class(name: str) -> type:
    """Return the class of the vendor's process groups.

    Args:
        name: Its dotted name.
    """
    return GroupType(name.rpartition(".")[2], (ProcessGroup,), {"__doc__": ProcessGroup.__doc__})


_collective: Any = None  # the library, once a group was made


def create(store: Any, rank: int, size: int, timeout: timedelta, options: Any = None) -> Any:
    """Make a backend of the vendor's name, for one process group.

    Args:
        store: Where its processes find each other.
        rank: This process's number in the group.
        size: How many processes are in it.
        timeout: Of its collectives.
        options: What it gives as its own; None gives gloo's.
    """
    made = gloo(_of_its_own(store, rank), rank, size, timeout)
    return over(made, started().facts.collective, made.options if options is None else options)


def _of_its_own(store: Any, rank: int) -> Any:
    """Return a part of the store for the next group: torch names one as the group that was destroyed before.

    NCCL leaves nothing there that the next would read; gloo leaves the addresses of its ranks.
    """
    from torch._C._distributed_c10d import PrefixStore

    return PrefixStore(f"group {store.add(f'groups of {rank}', 1)}", store)


def gloo(store: Any, rank: int, size: int, timeout: timedelta) -> Any:
    """Make one of gloo's groups, whose connections one thread serves for all groups of the process.

    A thread of its own, as torch gives each, wakes up a hundred times a second; programs make hundreds.

    Args:
        store: Where its processes find each other.
        rank: This process's number in the group.
        size: How many processes are in it.
        timeout: Of its collectives.
    """
    import torch.distributed as dist

    kind: Any = dist.ProcessGroupGloo
    options = kind._Options()
    options._timeout = timeout
    options._devices = _connections(os.getpid())
    options._threads = 2 * len(options._devices)  # as torch chooses
    return kind(store, rank, size, options)


@functools.cache
def _connections(process: int) -> list[Any]:
    import torch.distributed as dist

    kind: Any = dist.ProcessGroupGloo
    interfaces = os.environ.get("GLOO_SOCKET_IFNAME")
    if interfaces:
        return [kind.create_device(interface=name) for name in interfaces.split(",")]
    return [kind.create_default_device()]


def over(gloo: Any, name: str, options: Any) -> Any:
    """Make a backend that carries out the collectives of device tensors through one of gloo's."""
    global _collective
    if _collective is None:
        _collective = machines.library("collective")
        atexit.register(_collective.keep_groups)
        if machines.is_started():
            if not started().reduces_float8:
                _collective.refuse_float8()
            _watch(_collective, started().native)
    return _collective.over(gloo, name, options, _part, gloo.options._timeout)


def _watch(collective: Any, native: Any) -> None:
    """Have collectives tell of their order, and fail, as the options of the software device say."""
    if native.is_order_watched():
        collective.tell_order(*native.order_of_collectives())
    if native.hides_memory():
        collective.tell_hidden(native.usable_address_function())
    if faults.wanted():
        from morph.software import injecting

        collective.expect_absence(injecting.is_absent)


def _part(store: Any, rank: int, size: int, options: Any) -> Any:
    return create(store, rank, size, options._timeout, options)


def settle() -> None:
    """Wait for every collective of this process that was begun, as synchronizing a device does."""
    if _collective is not None:
        _collective.settle()

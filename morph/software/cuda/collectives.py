"""NCCL, or RCCL under its name, on the software device: gloo, on the memory that host and device share."""

from __future__ import annotations

import copy
import functools
import importlib
from datetime import timedelta
from types import ModuleType
from typing import Any

from morph.base.journal import Journal
from morph.finders.finder import on_import
from morph.software import distributed, visible
from morph.software.cuda import nccl_members
from morph.software.machine import started

C10D = "torch.distributed.distributed_c10d"
NCCL = "nccl"
TIMEOUT = timedelta(minutes=10)
SINCE_2_15 = "ProcessGroupNCCL2", "ProcessGroupNCCLLazy"


def register(journal: Journal) -> None:
    """Make torch.distributed find NCCL.

    Args:
        journal: Records every rebinding.
    """
    on_import(C10D, lambda module: _provide(module, journal), journal)
    on_import("torch.distributed", lambda module: _bind(module, journal), journal)
    on_import(C10D, lambda module: _serve_gloo(module, journal), journal)


def _provide(module: ModuleType, journal: Journal) -> None:
    if module.is_gloo_available():
        journal.set_attribute(module, "_NCCL_AVAILABLE", True)
        # None in a build without NCCL, of which _get_default_timeout warns
        for holder in (module, importlib.import_module("torch.distributed.constants")):
            journal.set_attribute(holder, "default_pg_nccl_timeout", TIMEOUT)
        _bind(module, journal)


def _serve_gloo(module: ModuleType, journal: Journal) -> None:
    """Make gloo accept the device's tensors, as it does in a build for CUDA."""
    register_backend = module.ProcessGroup._register_backend

    def register(group: Any, device: Any, kind: Any, backend: Any = None) -> None:
        if device.type == "cuda" and type(backend) is module.ProcessGroupGloo:
            backend = distributed.over(backend, "gloo", backend.options)
            kind = module.ProcessGroup.BackendType.CUSTOM  # a group has one backend of each other type
        register_backend(group, device, kind, backend)

    if module.is_gloo_available():
        journal.set_attribute(module.ProcessGroup, "_register_backend", register)


def _bind(module: ModuleType, journal: Journal) -> None:
    names = SINCE_2_15 if hasattr(module, "_create_nccl2_process_group") else ()
    for name in ("ProcessGroupNCCL", *names):
        journal.set_attribute(module, name, group_class())


@functools.cache
def group_class() -> type:
    """Make ``ProcessGroupNCCL``, once torch's classes of c10d are there."""
    from torch._C._distributed_c10d import Backend

    options: Any = Backend.Options
    kind: Any = _options_type(options)

    class Options(options, metaclass=kind):  # type: ignore[misc, metaclass]
        """Options of a process group, of which the timeout alone makes a difference here."""

        def __init__(self, is_high_priority_stream: bool = False) -> None:
            super().__init__(NCCL, TIMEOUT)
            self.is_high_priority_stream = is_high_priority_stream
            self.config = nccl_members.NCCLConfig()
            self.split_from: Any = None
            self.split_color = 0
            self.lazy_init = False
            self.use_pg_for_symm_mem_rendezvous = False

        def __copy__(self) -> Options:
            made = type(self)(self.is_high_priority_stream)
            made._timeout, made.config = self._timeout, copy.copy(self.config)
            made.group_name, made.global_ranks_in_group = self.group_name, list(self.global_ranks_in_group)
            return made

        def __deepcopy__(self, memo: dict[int, Any]) -> Options:
            return copy.copy(self)

    def new(cls: type, store: Any, rank: int, size: int, *given: Any, **named: Any) -> Any:
        nccl_members.check_variables()
        given = (*given, *named.values())  # options or a timeout, and from torch 2.15 on the device
        options = next((each for each in given if isinstance(each, Options)), Options())
        for timeout in (each for each in given if isinstance(each, timedelta)):
            options._timeout = timeout
        group = distributed.create(store, rank, size, options._timeout, options)
        group.tell_devices(_identities())
        if getattr(options, "split_from", None) is not None:
            options.split_from.perform_nocolor_split(None)  # counts the split
        nccl_members.complete(type(group))
        return group

    own = {"Options": Options, "__new__": new, "__module__": C10D, "__doc__": "NCCL's process groups."}
    names = {**nccl_members.OF_GROUPS, **own}
    Options.__module__, Options.__qualname__ = C10D, "ProcessGroupNCCL.Options"
    return distributed.GroupType("ProcessGroupNCCL", (distributed.ProcessGroup,), names)


def _identities() -> list[int]:
    """Return a number for each visible device that no other device of any host has."""
    machine = started()
    all_of = (visible.identity(machine.facts.name, index) for index in machine.visible.indices())
    return [identity.int >> 65 for identity in all_of]


def _options_type(base: type) -> type:
    """Make a type of which every option of the name nccl is an instance, as torch gives them back."""

    def is_instance(cls: type, instance: object) -> bool:
        return type.__instancecheck__(cls, instance) or getattr(instance, "backend", None) == NCCL

    return type("OptionsType", (type(base),), {"__instancecheck__": is_instance})

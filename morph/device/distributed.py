"""Process groups: what asks for nccl gets the backend's own collectives."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import torch

from morph.backends import Backend, resolve
from morph.device.parameters import translating, wrap
from morph.device.words import NCCL, Words
from morph.finders.finder import on_import
from morph.journal import Journal

C10D = "torch.distributed.distributed_c10d"
# torch accepts no device for what runs on the CPU, where a CUDA program names its only one.
WITHOUT_DEVICE: dict[str, dict[str, Any]] = {
    f"{C10D}:init_process_group": {"device_id": None},
    f"{C10D}:_new_group_with_tag": {"device_id": None},
    "torch.nn.parallel.distributed:DistributedDataParallel.__init__": {
        "device_ids": None,
        "output_device": None,
    },
    # which refuses the CPU unless it is named
    "torch.distributed.fsdp.fully_sharded_data_parallel:FullyShardedDataParallel.__init__": {
        "device_id": torch.device("cpu")
    },
    # which refuses parameters on the CPU, where they are to be broadcast from the device
    "torch.distributed.fsdp._init_utils:_check_module_states_for_sync_module_states": {"module_states": []},
}


def install(words: Words, journal: Journal) -> None:
    """Have torch.distributed take the backend's collectives for nccl's.

    Args:
        words: What CUDA's words become.
        journal: Records every rebinding.
    """
    on_import("torch.distributed", lambda module: _serve_nccl(module, words, journal), journal)
    if words.on_cpu:
        for name, values in WITHOUT_DEVICE.items():
            constants = {parameter: _constant(value) for parameter, value in values.items()}
            wrap(name, partial(translating, translators=constants), words, journal)


def _serve_nccl(package: ModuleType, words: Words, journal: Journal) -> None:
    """Answer code outside torch, which reads these names from the package, not from the module below it."""
    if not package.is_available():
        return
    truth = package.is_nccl_available
    available = words.views.predicate(truth, lambda: package.is_backend_available(NCCL))
    journal.set_attribute(package, "is_nccl_available", available)
    group = _group_class(words.backend)
    if group is not None and not hasattr(package, "ProcessGroupNCCL"):
        journal.set_attribute(package, "ProcessGroupNCCL", group)


def _group_class(backend: Backend) -> Any:
    """Return the class whose Options have what nccl's have; None if this build of the vendor lacks it."""
    name = backend.table.facts.process_group
    try:
        return resolve(name) if name else None
    except AttributeError:
        return None


def _constant(value: Any) -> Callable[[Any], Any]:
    return lambda given: value

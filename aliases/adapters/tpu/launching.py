"""Processes that torch starts, one for each TPU: what torch_tpu wants in their environment beyond torch's.

Its runtime needs `TORCH_TPU_SLICEBUILDER_ADDRESSES` and `TORCH_TPU_TOPOLOGY` in all processes of a host,
chosen before the first is started, and their ranks in the environment (torch_tpu 0.2.0).
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from morph.base.journal import Journal
from morph.finders.finder import on_import


def serve(journal: Journal, *, is_tpu: bool) -> None:
    """Prepare what ``torch.distributed.run`` and ``torch.multiprocessing`` start.

    Args:
        journal: Records the rebinding.
        is_tpu: Whether the PJRT plug-in is libtpu; processes over another one do not reach each other.
    """
    prepare = _prepare if is_tpu else _nothing

    def change_launcher(module: ModuleType) -> None:
        journal.set_attribute(module, "launch_agent", _launcher(module.launch_agent, prepare))

    def change_spawning(module: ModuleType) -> None:
        journal.set_attribute(module, "start_processes", _starter(module.start_processes, prepare))

    on_import("torch.distributed.launcher.api", change_launcher, journal)
    on_import("torch.multiprocessing.spawn", change_spawning, journal)


def _prepare(hosts: int | None, processes: int) -> None:
    """Choose the addresses and the topology, unless the environment has them.

    Raises:
        RuntimeError: If a slice of the host's TPUs cannot have so many processes.
    """
    vendors = importlib.import_module("torch_tpu._internal.distributed.distributed")
    vendors.set_tpu_launch_env(nnodes=hosts, nproc_per_node=processes)


def _nothing(hosts: int | None, processes: int) -> None:
    """Choose nothing."""


def _launcher(torchs: Callable[..., Any], prepare: Callable[[int | None, int], None]) -> Callable[..., Any]:
    @functools.wraps(torchs)
    def launch_agent(config: Any, *rest: Any, **options: Any) -> Any:
        prepare(config.max_nodes, config.nproc_per_node)
        return torchs(config, *rest, **options)

    return launch_agent


def _starter(torchs: Callable[..., Any], prepare: Callable[[int | None, int], None]) -> Callable[..., Any]:
    @functools.wraps(torchs)
    def start_processes(
        fn: Callable[..., Any], args: Iterable[Any] = (), nprocs: int = 1, *rest: Any, **options: Any
    ) -> Any:
        if "LOCAL_RANK" in os.environ:  # this process has its own TPU, and those that it starts use none
            return torchs(fn, args, nprocs, *rest, **options)
        # helpers may be more than a slice has TPUs for; one that uses a TPU then gets torch_tpu's error
        with contextlib.suppress(RuntimeError):
            prepare(None, nprocs)
        return torchs(Ranked(fn, nprocs), args, nprocs, *rest, **options)

    return start_processes


class Ranked:
    """A function that runs in each of several processes, and its rank in their environment.

    Args:
        function: It, whose first argument is the rank.
        processes: How many there are on the host.
    """

    def __init__(self, function: Callable[..., Any], processes: int) -> None:
        self.function, self.processes = function, processes

    def __call__(self, rank: int, *args: Any) -> Any:
        """Run it with its rank in the environment."""
        os.environ["LOCAL_RANK"] = str(rank)
        os.environ["LOCAL_WORLD_SIZE"] = str(self.processes)
        if "TORCH_TPU_TOPOLOGY" in os.environ:  # else torch_tpu's runtime would look for the others in vain
            hosts, host = int(os.environ.get("NNODES", "1")), int(os.environ.get("NODE_RANK", "0"))
            os.environ.setdefault("RANK", str(host * self.processes + rank))
            os.environ.setdefault("WORLD_SIZE", str(hosts * self.processes))
        return self.function(rank, *args)

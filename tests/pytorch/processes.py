"""Forks the processes of a distributed test from one that has loaded torch and its test support.

A test starts two to four, each of which would take eight seconds of a core to load them again.
"""

import multiprocessing
import multiprocessing.context
import os
from typing import Any

import torch.multiprocessing

PRELOADED = ["tests.pytorch.support", "torch.testing._internal.common_fsdp"]
PRELOADED += ["torch.testing._internal.distributed._tensor.common_dtensor"]


class Process(multiprocessing.context.ForkServerProcess):
    """A process with the environment that its parent has now, as a spawned one has."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._environment = dict(os.environ)

    def run(self) -> None:
        """Take the environment, and run the target."""
        os.environ.clear()
        os.environ.update(self._environment)
        super().run()


class Context(multiprocessing.context.ForkServerContext):
    """What torch's tests take for the context "spawn"."""

    Process = Process


def fork_spawned_processes() -> None:
    """Give the context to those who ask torch.multiprocessing for "spawn"."""
    context = Context()
    context.set_forkserver_preload(PRELOADED)
    original = torch.multiprocessing.get_context

    def get_context(method: str | None = None) -> Any:
        return context if method == "spawn" else original(method)

    torch.multiprocessing.get_context = get_context

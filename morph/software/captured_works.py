"""What a collective returns while it is captured: nothing communicates before a replay."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.utils._pytree import tree_leaves

from morph.software.machine import started


class CapturedWork(dist.Work):
    """A collective in a graph: what is captured after it comes after it in each replay.

    Args:
        results: The tensors that each replay fills.
        settle: Makes each replay wait here.
    """

    def __init__(self, results: list[torch.Tensor], settle: Callable[[], None]) -> None:
        super().__init__()
        self._results = results
        self._settle = settle

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Make each replay wait here, and not the program."""
        self._settle()
        return True

    def is_completed(self) -> bool:
        """Refuse the question, which fails the capture, as CUDA does."""
        started().native.refuse_in_capture()
        return True

    def result(self) -> list[torch.Tensor]:
        """Return the tensors that each replay fills."""
        return self._results

    def get_future(self) -> torch.futures.Future[list[torch.Tensor]]:
        """Return a future of the tensors, which is complete for the program."""
        self._settle()
        future: torch.futures.Future[list[torch.Tensor]] = torch.futures.Future()
        future.set_result(self._results)
        return future


def results(operation: Any, args: tuple[Any, ...], settle: Callable[[], None]) -> tuple[Any, CapturedWork]:
    """Return what a collective returns in a capture, and the work, to be kept alive until its end.

    Args:
        operation: The operator, of torch's namespace ``c10d``.
        args: Its arguments, of which the first is what it writes to.
        settle: Makes each replay wait for it.
    """
    work = CapturedWork(tree_leaves(args[0]), settle)
    boxed = work.boxed()
    return (boxed if len(operation._schema.returns) == 1 else (args[0], boxed)), work

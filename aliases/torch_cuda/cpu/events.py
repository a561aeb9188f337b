"""Events: points in time, since what is recorded is done already."""

from __future__ import annotations

import ctypes
import time
from typing import Any, Self

import torch

from morph.aliases.torch_cuda.cpu.device import CPU
from morph.aliases.torch_cuda.refusal import lacks


class Event(torch.Event):
    """A point in time, on the clock of ``time.perf_counter``.

    Args:
        enable_timing: Whether it can be asked for times.
        blocking: Without effect: nothing is waited for.
        interprocess: Without effect; see ``ipc_handle``.
        external: Without effect.
    """

    _timed: bool
    _recorded: int | None

    def __new__(
        cls,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> Self:
        """Create an event that is not recorded."""
        event = super().__new__(cls, CPU, enable_timing=enable_timing)
        event._timed = enable_timing
        event._recorded = None
        return event

    @property
    def cuda_event(self) -> int:
        """A number that tells events apart, 0 before the first record, as on CUDA."""
        return 0 if self._recorded is None else id(self)

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.cuda_event)

    def record(self, stream: torch.Stream | None = None) -> None:
        """Keep the time: all work submitted so far is done."""
        self._recorded = time.perf_counter_ns()

    def query(self) -> bool:
        """Return True: what was recorded is done."""
        return True

    def synchronize(self) -> None:
        """Return at once."""

    def wait(self, stream: torch.Stream | None = None) -> None:
        """Return at once."""

    def elapsed_time(self, end_event: Any) -> float:
        """Return the time between the two records in milliseconds.

        Raises:
            ValueError: If one of them has no timing or was not recorded; with CUDA's words.
        """
        if not (self._timed and end_event._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._recorded is None or end_event._recorded is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        elapsed: int = end_event._recorded - self._recorded
        return elapsed / 1e6

    def ipc_handle(self) -> bytes:
        """Refuse by name: an event of the CPU lives in one process."""
        raise lacks("torch.cuda.Event.ipc_handle", "an event lives in one process")

    @classmethod
    def from_ipc_handle(cls, device: Any, handle: bytes) -> Self:
        """Refuse by name, as ``ipc_handle`` does."""
        raise lacks("torch.cuda.Event.from_ipc_handle", "an event lives in one process")

    def __repr__(self) -> str:
        handle = f"{self.cuda_event:#x}" if self.cuda_event else "uninitialized"
        return f"<torch.cuda.Event {handle}>"


Event.__module__ = "torch.cuda.streams"

"""Timers that wait for the device."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import torch


class _Timer:
    """A stopwatch.

    Args:
        name: What it is called.
    """

    def __init__(self, name: str) -> None:
        self.name_ = name
        self.elapsed_ = 0.0
        self.started_ = False
        self.start_time = time.time()

    def start(self) -> None:
        """Start it."""
        assert not self.started_, "timer has already been started"
        torch.cuda.synchronize()
        self.start_time = time.time()
        self.started_ = True

    def stop(self) -> None:
        """Stop it."""
        assert self.started_, "timer is not started"
        torch.cuda.synchronize()
        self.elapsed_ += time.time() - self.start_time
        self.started_ = False

    def reset(self) -> None:
        """Set it to zero."""
        self.elapsed_ = 0.0
        self.started_ = False

    def elapsed(self, reset: bool = True) -> float:
        """Return the seconds that it ran, and set it to zero if ``reset``; it goes on if it ran."""
        was_running = self.started_
        if was_running:
            self.stop()
        elapsed = self.elapsed_
        if reset:
            self.reset()
        if was_running:
            self.start()
        return elapsed


class _Timers:
    """Stopwatches by name."""

    def __init__(self) -> None:
        self.timers: dict[str, _Timer] = {}

    def __call__(self, name: str) -> _Timer:
        return self.timers.setdefault(name, _Timer(name))

    def write(
        self, names: Iterable[str], writer: Any, iteration: int, normalizer: float = 1.0, reset: bool = False
    ) -> None:
        """Write times to a writer of TensorBoard's."""
        assert normalizer > 0.0
        for name in names:
            writer.add_scalar(f"{name}-time", self.timers[name].elapsed(reset=reset) / normalizer, iteration)

    def log(self, names: Iterable[str], normalizer: float = 1.0, reset: bool = True) -> None:
        """Print times in milliseconds, in the last process."""
        assert normalizer > 0.0
        times = ((name, self.timers[name].elapsed(reset=reset) * 1000.0 / normalizer) for name in names)
        line = "time (ms)" + "".join(f" | {name}: {each:.2f}" for name, each in times)
        distributed = torch.distributed
        last = not distributed.is_initialized() or (
            distributed.get_rank() == distributed.get_world_size() - 1
        )
        if last:
            print(line, flush=True)

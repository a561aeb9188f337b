"""Timing two spellings of the same work alternately."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Comparison:
    """Two medians, in nanoseconds per call."""

    name: str
    cuda: float
    own: float

    @property
    def ratio(self) -> float:
        """The time of the CUDA spelling relative to the device's own."""
        return self.cuda / self.own


def compare(
    name: str, cuda: Callable[[], object], own: Callable[[], object], rounds: int = 60, seconds: float = 0.002
) -> Comparison:
    """Time ``cuda`` and ``own`` alternately.

    Args:
        name: What is compared.
        cuda: The work in CUDA's spelling.
        own: The same work in the device's own spelling.
        rounds: The number of timings of each.
        seconds: The approximate length of one timing.
    """
    calls = max(1, int(seconds / _once(own)))
    times: dict[Callable[[], object], list[float]] = {cuda: [], own: []}
    for turn in range(rounds):
        for work in (cuda, own) if turn % 2 else (own, cuda):
            times[work].append(_time(work, calls))
    return Comparison(name, statistics.median(times[cuda]) * 1e9, statistics.median(times[own]) * 1e9)


def _once(work: Callable[[], object]) -> float:
    for _ in range(20):
        work()
    return max(_time(work, 20), 1e-9)


def _time(work: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        work()
    return (time.perf_counter() - start) / calls

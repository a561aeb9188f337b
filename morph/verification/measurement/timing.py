"""Timing two spellings of the same work alternately."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Comparison:
    """The best of all rounds, in nanoseconds per call, and the quartiles of the rounds' ratios."""

    name: str
    cuda: float
    own: float
    quartiles: tuple[float, float]

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
    return summarised(name, times[cuda], times[own])


def summarised(name: str, cuda: Sequence[float], own: Sequence[float]) -> Comparison:
    """Return the comparison of the timings of each round, in seconds per call.

    Args:
        name: What is compared.
        cuda: The timings of CUDA's spelling.
        own: Those of the device's own, in the same rounds.
    """
    ratios = [one / other for one, other in zip(cuda, own, strict=True)]
    first, _, third = statistics.quantiles(ratios * 2 if len(ratios) == 1 else ratios, method="inclusive")
    return Comparison(name, min(cuda) * 1e9, min(own) * 1e9, (first, third))


def _once(work: Callable[[], object]) -> float:
    for _ in range(20):
        work()
    return max(_time(work, 20), 1e-9)


def _time(work: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        work()
    return (time.perf_counter() - start) / calls

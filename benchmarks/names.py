"""What a device is called: asked by a program and by torch's code, with morph active and not, in turns."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import timeit
from collections.abc import Callable
from typing import Any

import torch

QUESTIONS = {
    "d.type": "d.type",
    "d.type in a new frame": "(lambda: d.type)()",
    "str(d)": "str(d)",
    "d.index": "d.index",
}
ASKERS = {"program": "__main__", "torch": "torch.benchmark"}
CALLS = 20_000


def questions(device: torch.device) -> dict[str, Callable[[], float]]:
    """Return what measures each question once, in nanoseconds a call."""
    return {
        f"{text}, by {asker}": _timer(question, {"__name__": module, "d": device})
        for text, question in QUESTIONS.items()
        for asker, module in ASKERS.items()
    }


def _timer(question: str, namespace: dict[str, Any]) -> Callable[[], float]:
    return lambda: min(timeit.repeat(question, globals=namespace, number=CALLS, repeat=5)) / CALLS * 1e9


def measured(backend: str, rounds: int, *, simulated: bool) -> dict[str, dict[str, float]]:
    """Measure every question with morph active and without it, in turns."""
    import morph

    found: dict[str, dict[str, list[float]]] = {}
    for _ in range(rounds):
        morph.activate(backend, simulated=simulated)
        device = torch.device("cuda:0")
        for name, measure in questions(device).items():
            found.setdefault(name, {"active": [], "plain": []})["active"].append(measure())
        morph.deactivate()
        for name, measure in questions(device).items():
            found[name]["plain"].append(measure())
    return {
        name: {way: statistics.median(times) for way, times in each.items()} for name, each in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default=os.environ.get("MORPH_BACKEND", "npu"))
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    results = measured(arguments.backend, arguments.rounds, simulated=arguments.simulated)
    if arguments.json:
        print(json.dumps(results))
        return
    for name, each in results.items():
        ratio = each["active"] / each["plain"]
        print(f"{name:34} {each['active']:6.0f} / {each['plain']:6.0f} ns {ratio:6.2f}x")


if __name__ == "__main__":
    main()

"""The command of a benchmark that compares a package as morph serves it with torch's own, pair by pair."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
from collections.abc import Callable, Iterable

import torch

from morph.measurement.timing import compare

Work = Callable[[], object]
Pair = tuple[str, Work, Work]
"""A name, the served package's work, and the same work by torch."""


def run(description: str | None, pairs: Callable[[], Iterable[Pair]], *, rounds: int, seconds: float) -> None:
    """Measure pairs on the device that the command line chooses, and print their ratios.

    Args:
        description: What ``--help`` says.
        pairs: Makes the pairs, once CUDA is served.
        rounds: How often each is measured unless the command line says.
        seconds: How long one measurement lasts at least.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--backend", default=os.environ.get("MORPH_BACKEND", "npu"))
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--threads", type=int, default=1, help="more wait for each other on a busy machine")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    import morph

    morph.activate(arguments.backend)
    torch.set_num_threads(arguments.threads)
    results = [compare(name, ours, own, arguments.rounds, seconds) for name, ours, own in pairs()]
    if arguments.json:
        print(json.dumps([{**dataclasses.asdict(each), "ratio": each.ratio} for each in results]))
        return
    for each in results:
        print(f"{each.name:75} {each.cuda / 1e3:9,.0f} / {each.own / 1e3:9,.0f} us {each.ratio:6.2f}x")

"""The command line of a benchmark that compares a package served by morph with torch, pair by pair."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
from collections.abc import Callable, Iterable

import torch

from morph.verification.measurement.timing import compare

Work = Callable[[], object]
Pair = tuple[str, Work, Work]
"""A name, the served package's work, and the same work in torch."""


def run(description: str | None, pairs: Callable[[], Iterable[Pair]], *, rounds: int, seconds: float) -> None:
    """Measure pairs on the device given on the command line, and print their ratios.

    Args:
        description: The text of ``--help``.
        pairs: Makes the pairs, after activation.
        rounds: How often each is measured by default.
        seconds: The minimum duration of one measurement.
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

"""``morph bench``: the cost of calls in CUDA's spelling, compared with the device's own spelling."""

from __future__ import annotations

import argparse
import dataclasses
import json
from typing import TYPE_CHECKING

from morph import activation
from morph.base.display import columns, console, counted, looking
from morph.base.errors import MorphError

if TYPE_CHECKING:
    from morph.verification.measurement import Figure

EXAMPLE = "bench --backend npu"
ROUNDS = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument("--backend", help="the backend (default: the first with an available device)")
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help="how often each call is timed (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.epilog = (
        "Times are the best of all rounds, in nanoseconds; half of all rounds have a ratio between the "
        "quartiles. Exit status: 0, or 1 if a call fails."
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure and print, and return 0, or 1 if a call fails."""
    from morph.verification.measurement import figures

    # not activated: torch would load a vendor's package that may be broken
    activation.arm(activation.Request(arguments.backend))
    import torch  # noqa: F401

    status = activation.status()
    if not status.active or status.device_type is None:
        raise MorphError("a working NVIDIA GPU is present: CUDA's spelling is the device's own")
    with looking("measuring") as progress:
        found = []
        for figure in figures(status.device_type, max(1, arguments.rounds)):
            progress(figure.call)
            found.append(figure)
    if arguments.json:
        print(json.dumps([{**dataclasses.asdict(each), "ratio": each.ratio} for each in found], indent=1))
    else:
        _print(found, status.device_type)
    return int(any(each.error for each in found))


def _print(found: list[Figure], device_type: str) -> None:
    shown = columns("call", "cuda, ns", f"{device_type}, ns", "ratio", "quartiles")
    for each in found:
        if each.quartiles is None:
            shown.add_row(each.call, "", "", "", each.error)
        else:
            quartiles = "{:.2f} to {:.2f}".format(*each.quartiles)
            shown.add_row(each.call, f"{each.cuda:,.0f}", f"{each.own:,.0f}", f"{each.ratio:.2f}", quartiles)
    console().print(shown)
    unsteady = sum(each.is_unsteady for each in found)
    if unsteady:
        console().print(
            f"\nThe ratios of {counted(unsteady, 'call')} spread widely: other programs are running, or the"
            "\nprocessor changes its speed. Measure again when nothing else runs."
        )

"""``morph verify``: check that the device computes what the CPU does."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections import Counter
from typing import TYPE_CHECKING

from morph import activation
from morph.base.display import columns, console, looking

if TYPE_CHECKING:
    from morph.verification import Result

EXAMPLE = "verify --rehearse npu"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument("--backend", help="the backend (default: the first with an available device)")
    parser.add_argument("--rehearse", metavar="BACKEND", help="verify the simulated device of this backend")
    parser.add_argument("--device", default="cuda", help="the device in CUDA's spelling (default: cuda)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.epilog = (
        "Exit status: 0 if every check passes, 1 if one fails or raises, 2 if there is no such device."
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the checks, print their outcomes, and return 0 if all passed, else 1.

    Raises:
        MorphError: If there is no such device.
    """
    # armed, not activated: torch itself would load a vendor's package that may be broken
    name, simulated = arguments.rehearse or arguments.backend, arguments.rehearse is not None
    activation.arm(activation.Request(name, simulated=simulated))
    from morph.verification import Outcome, checks, ensure_device, verify

    ensure_device(arguments.device)
    with looking("verifying") as progress:
        found = []
        for check in checks():
            progress(f"{check.group}, {check.name}")
            found.append(verify(check, arguments.device))
    if arguments.json:
        rows = [{**dataclasses.asdict(each), "outcome": each.outcome.value} for each in found]
        print(json.dumps(rows, indent=1))
    else:
        _print(found)
    return int(any(each.outcome is not Outcome.PASS for each in found))


def _print(found: list[Result]) -> None:
    from morph.verification import Outcome

    screen, shown = console(), columns("", "pass", "fail", "error")
    for group in dict.fromkeys(each.group for each in found):
        counted = Counter(each.outcome for each in found if each.group == group)
        shown.add_row(group, *(str(counted[outcome]) for outcome in Outcome))
    screen.print(shown)
    for each in found:
        if each.outcome is not Outcome.PASS:
            screen.print(f"{each.outcome.value}: {each.group}, {each.name}: {each.detail}", markup=False)
    passed = sum(each.outcome is Outcome.PASS for each in found)
    screen.print(f"{passed} of {len(found)} checks pass")

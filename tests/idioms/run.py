"""Prints which idioms fail on a platform.

python -m tests.idioms.run --platform npu [--under transfer_to_npu] [--against-ported] [SUBJECT...]
"""

import argparse
import functools
import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from tests import platforms
from tests.ascend import build as soft_cann
from tests.idioms import ported
from tests.idioms.outcomes import SUBJECTS, outcomes_together

TRANSFER = """
import runpy, sys
import torch, torch_npu
from torch_npu.contrib import transfer_to_npu
sys.argv[:] = sys.argv[1:]
sys.path[0] = sys.argv[0].rpartition("/")[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
Outcomes = dict[str, str | None]
COMMANDS = {"python": [sys.executable], "transfer_to_npu": [sys.executable, "-c", TRANSFER], "morph": None}


def main() -> None:
    """Runs the subjects that the command line names, or all of them."""
    arguments = parsed()
    variables = soft_cann.environment(soft_cann.build(print)) if arguments.platform == "npu" else {}
    platform = platforms.platform(arguments.platform, variables)
    run = functools.partial(outcomes_together, platform, command=COMMANDS[arguments.under])
    seen = of_each(run, arguments.subject)
    show(seen, whole=arguments.full)
    print(f"{len(held(seen))} of {len(seen)} hold")
    if arguments.against_ported:
        vendors = of_each(functools.partial(ported.outcomes, platform), arguments.subject)
        both = held(seen) & held(vendors)
        print(f"{len(both)} of the {len(held(vendors))} that hold in the vendor's spelling")


def of_each(run: Callable[[list[str]], Outcomes], subjects: Iterable[str]) -> Outcomes:
    """Runs the subjects, each in a process of its own."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        results = threads.map(run, ([subject] for subject in subjects))
        return {name: failure for each in results for name, failure in each.items()}


def parsed() -> argparse.Namespace:
    """Returns what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--platform", choices=(*platforms.EVERYWHERE, "simulated-rocm"), default="cpu")
    parser.add_argument("--under", choices=COMMANDS, default="morph")
    parser.add_argument("--against-ported", action="store_true", help="also run them in npu's spelling")
    parser.add_argument("--full", action="store_true", help="whole tracebacks")
    parser.add_argument("subject", nargs="*", default=SUBJECTS)
    return parser.parse_args()


def show(results: Outcomes, *, whole: bool) -> None:
    """Prints the idioms that do not hold."""
    for name, failure in results.items():
        if failure is not None:
            shown = failure if whole else failure.strip().splitlines()[-1][:160]
            print(f"{name}: {shown}", flush=True)


def held(seen: Outcomes) -> set[str]:
    """Returns the names of the idioms that hold."""
    return {idiom for idiom, failure in seen.items() if failure is None}


if __name__ == "__main__":
    main()

"""Prints which idioms fail on a platform.

python -m tests.idioms.run --platform npu [--under transfer_to_npu] [--against-ported] [SUBJECT...]
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
from concurrent.futures import ThreadPoolExecutor

from tests import platforms
from tests.ascend import build as soft_cann
from tests.idioms import ported
from tests.idioms.outcomes import SUBJECTS, outcomes

TRANSFER = """
import runpy, sys
import torch, torch_npu
from torch_npu.contrib import transfer_to_npu
sys.argv[:] = sys.argv[1:]
sys.path[0] = sys.argv[0].rpartition("/")[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
Outcomes = dict[tuple[str, str], str | None]
COMMANDS = {"python": [sys.executable], "transfer_to_npu": [sys.executable, "-c", TRANSFER], "morph": None}


def main() -> None:
    """Runs the subjects that the command line names, or all of them."""
    arguments = parsed()
    variables = soft_cann.environment(soft_cann.build(print)) if arguments.platform == "npu" else {}
    platform = platforms.platform(arguments.platform, variables)
    seen, vendors = Outcomes(), Outcomes()
    with ThreadPoolExecutor(os.cpu_count()) as threads:  # each subject is a process
        run = functools.partial(outcomes, platform, command=COMMANDS[arguments.under])
        for subject, results in zip(arguments.subject, threads.map(run, arguments.subject), strict=True):
            show(subject, results, whole=arguments.full)
            seen |= keyed(subject, results)
        if arguments.against_ported:
            run = functools.partial(ported.outcomes, platform)
            for subject, results in zip(arguments.subject, threads.map(run, arguments.subject), strict=True):
                vendors |= keyed(subject, results)
    print(f"{len(held(seen))} of {len(seen)} hold")
    if arguments.against_ported:
        both = held(seen) & held(vendors)
        print(f"{len(both)} of the {len(held(vendors))} that hold in the vendor's spelling")


def parsed() -> argparse.Namespace:
    """Returns what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--platform", choices=(*platforms.EVERYWHERE, "simulated-rocm"), default="cpu")
    parser.add_argument("--under", choices=COMMANDS, default="morph")
    parser.add_argument("--against-ported", action="store_true", help="also run them in npu's spelling")
    parser.add_argument("--full", action="store_true", help="whole tracebacks")
    parser.add_argument("subject", nargs="*", default=SUBJECTS)
    return parser.parse_args()


def show(subject: str, results: dict[str, str | None], *, whole: bool) -> None:
    """Prints the idioms of a file that do not hold."""
    for name, failure in results.items():
        if failure is not None:
            shown = failure if whole else failure.strip().splitlines()[-1][:160]
            print(f"{subject}.{name}: {shown}", flush=True)


def keyed(subject: str, results: dict[str, str | None]) -> Outcomes:
    """Returns the outcomes of a file's idioms by subject and name."""
    return {(subject, name): failure for name, failure in results.items()}


def held(seen: Outcomes) -> set[tuple[str, str]]:
    """Returns the subjects and names of the idioms that hold."""
    return {idiom for idiom, failure in seen.items() if failure is None}


if __name__ == "__main__":
    main()

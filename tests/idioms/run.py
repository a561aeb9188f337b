"""Prints which idioms fail on a platform.

python -m tests.idioms.run --platform npu [--under transfer_to_npu] [SUBJECT...]
"""

from __future__ import annotations

import argparse
import sys

from tests import platforms
from tests.ascend import build as soft_cann
from tests.idioms.outcomes import SUBJECTS, outcomes

TRANSFER = """
import runpy, sys
import torch, torch_npu
from torch_npu.contrib import transfer_to_npu
sys.argv[:] = sys.argv[1:]
sys.path[0] = sys.argv[0].rpartition("/")[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
COMMANDS = {"python": [sys.executable], "transfer_to_npu": [sys.executable, "-c", TRANSFER], "morph": None}


def main() -> None:
    """Runs the subjects that the command line names, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--platform", choices=(*platforms.EVERYWHERE, "simulated-rocm"), default="cpu")
    parser.add_argument("--under", choices=COMMANDS, default="morph")
    parser.add_argument("--full", action="store_true", help="whole tracebacks")
    parser.add_argument("subject", nargs="*", default=SUBJECTS)
    arguments = parser.parse_args()
    variables = soft_cann.environment(soft_cann.build(print)) if arguments.platform == "npu" else {}
    platform = platforms.platform(arguments.platform, variables)
    held = count = 0
    for subject in arguments.subject:
        results = outcomes(platform, subject, COMMANDS[arguments.under])
        held, count = held + list(results.values()).count(None), count + len(results)
        for name, failure in results.items():
            if failure is not None:
                shown = failure if arguments.full else failure.strip().splitlines()[-1][:160]
                print(f"{subject}.{name}: {shown}", flush=True)
    print(f"{held} of {count} hold")


if __name__ == "__main__":
    main()

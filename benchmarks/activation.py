"""The time that activation adds to ``import torch``, and to the start of an interpreter without torch."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

REPOSITORY = pathlib.Path(__file__).parents[1]
ADDED = """
import sys, time
import torch
{vendor}
loaded = set(sys.modules)
start = time.perf_counter()
import morph
morph.activate({backend!r})
print(time.perf_counter() - start)
heavy = [name for name in ("torch._dynamo", "torch._inductor") if name in set(sys.modules) - loaded]
assert not heavy, heavy
"""


def run(*command: str) -> float:
    """Run Python and return the number that it printed, or else its running time in seconds."""
    path = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "PYTHONPATH": path, "MORPH_ANNOUNCED": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    elapsed = time.perf_counter() - start
    return float(done.stdout.split()[-1]) if done.stdout.strip() else elapsed


def activation(backend: str, rounds: int) -> float:
    """Return the median seconds that activation takes after torch and the vendor's package are imported."""
    vendor = "" if backend == "cpu" else f"import torch_{backend}; torch.{backend}.device_count()"
    return statistics.median(
        run("-W", "ignore", "-c", ADDED.format(backend=backend, vendor=vendor)) for _ in range(rounds)
    )


def start(rounds: int) -> dict[str, float]:
    """Return the median start-up milliseconds of an interpreter, bare and as a child of morph."""
    site = str(REPOSITORY / "morph" / "startup" / "site")
    own = {"PYTHONPATH": os.pathsep.join([site, str(REPOSITORY)]), "MORPH_BACKEND": "cpu"}
    times: dict[str, list[float]] = {"bare": [], "child": []}
    for _ in range(rounds):
        for name, variables in (("bare", {}), ("child", own)):
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", ""], env={**os.environ, **variables}, check=True)
            times[name].append((time.perf_counter() - begin) * 1e3)
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default=os.environ.get("MORPH_BACKEND", "npu"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    run(
        "-c", f"import morph; morph.activate({arguments.backend!r})"
    )  # builds the seam if it is not built yet
    starts = start(arguments.rounds * 10)
    figures = {"activation_ms": activation(arguments.backend, arguments.rounds) * 1e3, **starts}
    if arguments.json:
        print(json.dumps(figures))
    else:
        print("activation adds {activation_ms:.0f} ms to an imported torch".format(**figures))
        print(
            "an interpreter starts in {bare:.2f} ms, as a child of morph in {child:.2f} ms".format(**figures)
        )


if __name__ == "__main__":
    main()

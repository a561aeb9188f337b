"""The start-up cost of an enabled environment for an interpreter that never imports torch."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import tempfile
import time
import venv
from collections.abc import Sequence
from dataclasses import dataclass

from morph.environment.place import root_folder
from morph.environment.startup_files import startup_files

PROGRAM = "pass"


@dataclass(frozen=True)
class Figures:
    """The start-up time of an interpreter in both environments, in milliseconds.

    Attributes:
        bare: The median in a bare environment.
        enabled: The median in an enabled environment.
        difference: The median difference between two consecutive starts.
        ratio: The median of their ratios.
        processor: The median difference in CPU time.
    """

    bare: float
    enabled: float
    difference: float
    ratio: float
    processor: float


def environment(folder: pathlib.Path, *, enabled: bool) -> pathlib.Path:
    """Create a virtual environment with the start-up files only, if enabled; return its interpreter."""
    venv.create(folder, symlinks=True, with_pip=False)
    packages = next(folder.glob("lib/python*/site-packages"))
    for name, content in startup_files(root_folder()).items() if enabled else ():
        (packages / name).write_text(content)
    return folder / "bin" / "python"


def start(python: pathlib.Path, program: str) -> tuple[float, float]:
    """Run a program and return its elapsed time and its CPU time, in milliseconds."""
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MORPH"))
    }
    begun = time.perf_counter()
    process = os.posix_spawn(python, [str(python), "-c", program], variables)
    _, status, used = os.wait4(process, 0)
    elapsed = time.perf_counter() - begun
    if status:
        raise RuntimeError(f"{python} ended with status {status}")
    return elapsed * 1e3, (used.ru_utime + used.ru_stime) * 1e3


def compare(bare: pathlib.Path, enabled: pathlib.Path, rounds: int, program: str = PROGRAM) -> Figures:
    """Start both interpreters alternately."""
    pairs = []
    for turn in range(rounds + 2):  # the first starts write the bytecode
        order = (bare, enabled) if turn % 2 else (enabled, bare)
        taken = {python: start(python, program) for python in order}
        pairs.append((taken[bare], taken[enabled]))
    return _figures(pairs[2:])


def _figures(pairs: Sequence[tuple[tuple[float, float], tuple[float, float]]]) -> Figures:
    return Figures(
        bare=statistics.median(bare[0] for bare, _ in pairs),
        enabled=statistics.median(enabled[0] for _, enabled in pairs),
        difference=statistics.median(enabled[0] - bare[0] for bare, enabled in pairs),
        ratio=statistics.median(enabled[0] / bare[0] for bare, enabled in pairs),
        processor=statistics.median(enabled[1] - bare[1] for bare, enabled in pairs),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        bare = environment(folder / "bare", enabled=False)
        enabled = environment(folder / "enabled", enabled=True)
        found = compare(bare, enabled, arguments.rounds)
    if arguments.json:
        print(json.dumps(vars(found)))
        return
    print(
        f"an interpreter starts in {found.bare:.2f} ms, in an enabled environment in {found.enabled:.2f} ms"
    )
    print(f"{found.difference:+.2f} ms, {found.ratio:.3f}x; {found.processor:+.2f} ms of processor time")


if __name__ == "__main__":
    main()

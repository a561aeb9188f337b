"""What morph costs a process that never imports torch: an interpreter where it is enabled, or pytest."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from dataclasses import dataclass

from morph.running.environment.place import root_folder
from morph.running.environment.startup_files import startup_files

Program = tuple[pathlib.Path, str]

PROGRAM = "pass"
TESTS = "import pytest; pytest.main(['-pno:terminal', '-pno:cacheprovider', '-p', {plugin!r}, {folder!r}])"


@dataclass(frozen=True)
class Figures:
    """The time of a process without morph and with it, in milliseconds.

    Attributes:
        bare: The median without morph.
        enabled: The median with morph.
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


def compare(bare: Program, enabled: Program, rounds: int) -> Figures:
    """Start both alternately, each a Python with the code that it runs."""
    pairs = []
    for turn in range(rounds + 2):  # the first starts write the bytecode
        order = (bare, enabled) if turn % 2 else (enabled, bare)
        taken = {program: start(*program) for program in order}
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


def in_environments(folder: pathlib.Path, rounds: int) -> Figures:
    """Measure an interpreter in a bare environment and in an enabled one."""
    bare = environment(folder / "bare", enabled=False)
    enabled = environment(folder / "enabled", enabled=True)
    return compare((bare, PROGRAM), (enabled, PROGRAM), rounds)


def in_pytest(folder: pathlib.Path, rounds: int) -> Figures:
    """Measure pytest with one empty test, without morph's plug-in and with it."""
    if not importlib.metadata.entry_points(group="pytest11", name="morph"):
        raise SystemExit("this environment has no pytest plug-in of morph's: python -m pip install .")
    (folder / "test_nothing.py").write_text("def test_nothing(): pass\n")
    python = pathlib.Path(sys.executable)
    without, with_it = (TESTS.format(plugin=each, folder=str(folder)) for each in ("no:morph", "morph"))
    return compare((python, without), (python, with_it), rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pytest", action="store_true", help="measure pytest, not an interpreter")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        measure = in_pytest if arguments.pytest else in_environments
        found = measure(pathlib.Path(name), arguments.rounds)
    if arguments.json:
        print(json.dumps(vars(found)))
        return
    what = "pytest" if arguments.pytest else "an interpreter"
    print(f"{what} takes {found.bare:.2f} ms, and {found.enabled:.2f} ms with morph")
    print(f"{found.difference:+.2f} ms, {found.ratio:.3f}x; {found.processor:+.2f} ms of processor time")


if __name__ == "__main__":
    main()

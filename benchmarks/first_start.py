"""The first start of a new user: from an empty cache to the end of a program, and again with all built."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "tests" / "programs" / "digits.py"
PLAIN = "import torch; torch.ones(2).sum()"
MOVED = "import torch; torch.ones(2).cuda().sum()"


class Figure(NamedTuple):
    """The seconds that a command took.

    Attributes:
        name: What it did.
        wall: By the clock.
        processor: Of all its processes, on all cores.
    """

    name: str
    wall: float
    processor: float


def measured(
    name: str, *words: object, cache: pathlib.Path, root: pathlib.Path = ROOT, **more: str
) -> Figure:
    """Run Python with these words, and measure it and its children."""
    environment = {
        **os.environ,
        "MORPH_CACHE": str(cache),
        "MORPH_BACKEND": "cpu",
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        **more,
    }
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        [sys.executable, *map(str, words)], cwd=root, env=environment, check=True, stdout=subprocess.DEVNULL
    )
    after, ended = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Figure(name, ended - begun, processor)


def figures() -> list[Figure]:
    """Measure a first start, the rest of the build, a later start, and plain torch."""
    with tempfile.TemporaryDirectory() as folder:
        cache = pathlib.Path(folder)
        return [
            measured("first start of the program", "-m", "morph", PROGRAM, cache=cache),
            measured("the rest of the build (in the background)", "-m", "morph", "build", cache=cache),
            measured("a later start of the program", "-m", "morph", PROGRAM, cache=cache),
            measured("a tensor on the device", "-m", "morph", "-c", MOVED, cache=cache),
            measured("a tensor in plain torch", "-c", PLAIN, cache=cache),
        ]


def of_wheel(wheel: pathlib.Path) -> Figure:
    """Measure the first start from a wheel that holds the compiled parts, where the compiler fails."""
    with tempfile.TemporaryDirectory() as folder:
        package, cache = pathlib.Path(folder, "package"), pathlib.Path(folder, "cache")
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(package)
        name = "a tensor on the device, from the wheel, without a compiler"
        return measured(name, "-m", "morph", "-c", MOVED, cache=cache, root=package, CXX="false")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--wheel", type=pathlib.Path, help="one with compiled parts, for a start without a compiler"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    arguments = parser.parse_args()
    found = [*figures(), *([of_wheel(arguments.wheel)] if arguments.wheel else [])]
    if arguments.json:
        print(json.dumps([figure._asdict() for figure in found], indent=1))
        return
    for figure in found:
        print(f"{figure.wall:6.1f} s, {figure.processor:6.1f} s of CPU  {figure.name}")


if __name__ == "__main__":
    main()

"""The software device against plain torch on the CPU: the same work in two processes, measured in turn."""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from types import TracebackType

DEVICES = {"plain": "cpu", "software": "cuda"}


class Side:
    """A process that does the work of one side on request."""

    def __init__(self, side: str, threads: int) -> None:
        own = ["-m", "benchmarks.software", "--side", side, "--threads", str(threads)]
        under = [] if side == "plain" else ["-m", "morph", "--backend", "cpu"]
        self._errors = tempfile.TemporaryFile("w+")
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
        self._process = subprocess.Popen(
            [sys.executable, *under, *own],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True, env=environment,
        )  # fmt: skip

    def __enter__(self) -> Side:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.communicate()
        self._errors.close()

    def ask(self, **question: object) -> float:
        """Send one request and return the number in its reply."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(question), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            self._errors.seek(0)
            raise RuntimeError(self._errors.read())
        return float(answer)


def answer(side: str, threads: int) -> None:
    """Serve the requests on standard input, in the process of one side."""
    import torch

    from benchmarks.software_work import Work, work

    torch.set_num_threads(threads)
    torch.rand(1, device=DEVICES[side])
    made: dict[str, Work] = {}
    replies, sys.stdout = sys.stdout, sys.stderr  # some libraries print
    for line in sys.stdin:
        question = json.loads(line)
        if question["name"] == "memory":
            figure = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
        else:
            if question["name"] not in made:
                made.clear()
                made[question["name"]] = work(question["name"], DEVICES[side])
            figure = _seconds(made[question["name"]], question["calls"])
        print(figure, file=replies, flush=True)


def _seconds(do: object, calls: int) -> float:
    assert callable(do)
    start = time.perf_counter()
    for _ in range(calls):
        do()
    return (time.perf_counter() - start) / calls


def compare(name: str, sides: list[Side], rounds: int, seconds: float) -> dict[str, object]:
    """Measure one piece of work on both sides alternately.

    Args:
        name: The name of the work.
        sides: The software device's process, and plain torch's.
        rounds: How often each side is measured.
        seconds: The approximate duration of one measurement.

    Returns:
        The name, the ratio (the median over the rounds), and the best time of each side in seconds.
    """
    for side in sides:
        side.ask(name=name, calls=3)
    calls = max(1, int(seconds / sides[1].ask(name=name, calls=3)))
    times: list[list[float]] = [[], []]
    for turn in range(rounds):
        for which in (0, 1) if turn % 2 else (1, 0):
            time.sleep(0.02)  # until the other side's OpenMP threads stop spinning
            times[which].append(sides[which].ask(name=name, calls=calls))
    ratio = statistics.median(software / plain for software, plain in zip(*times, strict=True))
    best = [min(each) for each in times]
    return {"name": name, "ratio": ratio, "of_best": best[0] / best[1], "software": best[0], "plain": best[1]}


def peaks(name: str, threads: int) -> dict[str, object]:
    """Measure the peak memory of two fresh processes after some calls of the work."""
    figures = []
    for which in ("software", "plain"):
        with Side(which, threads) as side:
            side.ask(name=name, calls=10)
            figures.append(side.ask(name="memory"))
    ratio = figures[0] / figures[1]
    return {"name": f"peak memory of {name}", "ratio": ratio, "software": figures[0], "plain": figures[1]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--seconds", type=float, default=0.02, help="of one measurement")
    parser.add_argument("--only", nargs="+", help="names of work; default: all")
    parser.add_argument("--stacks", action="store_true", help="steps of the libraries that are installed")
    parser.add_argument("--memory", action="store_true", help="the peak memory of the training steps too")
    parser.add_argument("--side", choices=DEVICES, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.side:
        answer(arguments.side, arguments.threads)
        return
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # vendor packages are not needed
    from benchmarks.software_stacks import installed
    from benchmarks.software_work import NAMES, STEPS

    names = arguments.only or (installed() if arguments.stacks else NAMES)
    with Side("software", arguments.threads) as software, Side("plain", arguments.threads) as plain:
        rows = [compare(name, [software, plain], arguments.rounds, arguments.seconds) for name in names]
    if arguments.memory:
        rows += [peaks(name, arguments.threads) for name in STEPS]
    if arguments.json:
        print(json.dumps(rows))
        return
    for row in rows:
        scale, unit = (1e-6, "MB") if "memory" in str(row["name"]) else (1e6, "us")
        figures = [float(str(row[side])) * scale for side in ("software", "plain")]
        times = f"{figures[0]:10,.1f} / {figures[1]:10,.1f} {unit}"
        print(f"{row['name']:30} {times} {row['ratio']:6.2f}x", end="")
        print(f"  (best {row['of_best']:5.2f}x)" if "of_best" in row else "")


if __name__ == "__main__":
    main()

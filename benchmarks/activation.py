"""The time that morph adds to ``import torch``, to a program, and to a child process without torch."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence

REPOSITORY = pathlib.Path(__file__).parents[1]
QUIET = {"MORPH_ANNOUNCED": "1", "OMP_NUM_THREADS": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
IMPORTED = "import torch, sys, time{vendor}\n"
ADDED = """
loaded = set(sys.modules)
start = time.process_time()
import morph
morph.activate({backend!r})
print((time.process_time() - start) * 1e3)
heavy = [name for name in ("torch._dynamo", "torch._inductor") if name in set(sys.modules) - loaded]
assert not heavy, heavy
"""


def environment(**own: str) -> dict[str, str]:
    """Return the variables of a process that finds this checkout, and keeps bytecode as an installed one."""
    path = os.pathsep.join(filter(None, [own.pop("PYTHONPATH", ""), str(REPOSITORY)]))
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "PYTHONPATH": path, **QUIET, **own}


def spent(words: Sequence[str], variables: Mapping[str, str]) -> tuple[float, float]:
    """Run Python; return the milliseconds that passed, and those of processor time.

    Raises:
        RuntimeError: If it fails.
    """
    begun = time.perf_counter()
    process = os.posix_spawn(sys.executable, [sys.executable, "-W", "ignore", *words], variables)
    _, status, used = os.wait4(process, 0)
    if status:
        raise RuntimeError(f"python {' '.join(words)} ended with status {status}")
    return (time.perf_counter() - begun) * 1e3, (used.ru_utime + used.ru_stime) * 1e3


def activation(backend: str, imported: str, rounds: int) -> float:
    """Return the median processor milliseconds of activation after the imports."""
    command = [sys.executable, "-W", "ignore", "-c", imported + ADDED.format(backend=backend)]
    outputs = (
        subprocess.run(command, env=environment(), capture_output=True, text=True, check=True).stdout
        for _ in range(rounds)
    )
    return statistics.median(float(output.split()[-1]) for output in outputs)


def launch(backend: str, imported: str, rounds: int) -> float:
    """Return the median processor milliseconds that ``python -m morph`` adds to the imports."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "program.py")
        program.write_text(imported)
        words = [str(program)], ["-m", "morph", "--backend", backend, str(program)]
        pairs = [[spent(each, environment())[1] for each in words] for _ in range(rounds + 1)]
    return statistics.median(morphs - plain for plain, morphs in pairs[1:])


def start(rounds: int) -> dict[str, float]:
    """Return the median start-up milliseconds of an interpreter, bare and as a child of morph."""
    site = str(REPOSITORY / "morph" / "running" / "startup" / "site")
    own = {"bare": environment(), "child": environment(PYTHONPATH=site, MORPH_BACKEND="cpu")}
    times = [{name: spent(["-c", ""], own[name])[0] for name in own} for _ in range(rounds)]
    return {f"{name}_ms": statistics.median(each[name] for each in times) for name in own}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default=os.environ.get("MORPH_BACKEND", "npu"))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    backend = arguments.backend
    vendor = "" if backend == "cpu" else f", torch_{backend}; torch.{backend}.device_count()"
    imported = IMPORTED.format(vendor=vendor)
    activation(backend, imported, 1)  # builds the native parts unless they are kept, and writes the bytecode
    figures = {
        "activation_ms": activation(backend, imported, arguments.rounds),
        "launch_ms": launch(backend, imported, arguments.rounds),
        **start(arguments.rounds * 10),
    }
    if arguments.json:
        print(json.dumps(figures))
        return
    print("activation adds {activation_ms:.0f} ms of processor time to an imported torch".format(**figures))
    print("python -m morph adds {launch_ms:.0f} ms of processor time to a program".format(**figures))
    print("an interpreter starts in {bare_ms:.2f} ms, a child in {child_ms:.2f} ms".format(**figures))


if __name__ == "__main__":
    main()

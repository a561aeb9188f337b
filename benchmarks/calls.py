"""Single calls: the CUDA spelling against the device's own, for morph and for other ways beside it."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.measure import compare
from benchmarks.ways import WAYS, in_processes

# CUDA's spelling, and the device's own where {device} and {module} stand for its type and its module
CALLS = {
    "torch.cuda.current_device()": "{module}.current_device()",
    "torch.cuda.current_stream()": "{module}.current_stream()",
    "torch.cuda.is_available()": "{module}.is_available()",
    "torch.device('cuda')": "torch.device('{device}')",
    "torch.empty(4, device='cuda')": "torch.empty(4, device='{device}')",
    "torch.empty(4)": "torch.empty(4)",
    "host.to('cuda')": "host.to('{device}')",
    "there.to('cuda')": "there.to('{device}')",
    "there.cuda()": "there.to('{device}')",
    "there.to(torch.float32)": "there.to(torch.float32)",
    "there.is_cuda": "there.{is_device}",
    "there + 1": "there + 1",
}


def evaluator(source: str, names: dict[str, Any]) -> Callable[[], object]:
    """Compile ``source`` to a function without arguments."""
    function: Callable[[], object] = eval(f"lambda: {source}", names)
    return function


def figures(way: str, backend: str) -> Iterator[dict[str, Any]]:
    """Measure every call in this process under ``way``."""
    WAYS[way](backend)
    import torch

    own = {"device": backend, "module": f"torch.{backend}", "is_device": f"is_{backend}"}
    names = {"torch": torch, "host": torch.ones(4), "there": torch.ones(4, device=backend)}
    for cuda, spelling in CALLS.items():
        try:
            both = [evaluator(source, names) for source in (cuda, spelling.format(**own))]
            result = compare(cuda, *both)
            yield {"call": cuda, "cuda_ns": result.cuda, "own_ns": result.own, "ratio": result.ratio}
        except Exception as error:  # a way that cannot do a call is a finding, not a failure of the benchmark
            yield {"call": cuda, "error": str(error).partition("\n")[0]}


def show(results: dict[str, Any]) -> None:
    """Print a table of ratios and nanoseconds, one column for each way."""
    from rich.console import Console
    from rich.table import Table

    table = Table("call", *results)
    for index, call in enumerate(CALLS):
        table.add_row(call, *[_cell(result, index) for result in results.values()])
    Console(width=100).print(table)
    for way, result in results.items():
        if isinstance(result, str):
            print(f"{way}: {result}")


def _cell(result: Any, index: int) -> str:
    row = {"error": "fails"} if isinstance(result, str) else result[index]
    return "fails" if "error" in row else f"{row['ratio']:5.2f}x {row['cuda_ns']:7,.0f} ns"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default=os.environ.get("MORPH_BACKEND", "npu"))
    parser.add_argument("--with", dest="ways", nargs="+", default=["morph"], choices=WAYS)
    parser.add_argument("--only", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.only:
        print(json.dumps(list(figures(arguments.only, arguments.backend))))
        return
    results = in_processes("benchmarks.calls", arguments.ways, arguments.backend)
    if arguments.json:
        print(json.dumps(results))
    else:
        show(results)


if __name__ == "__main__":
    main()

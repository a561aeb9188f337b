"""Single calls: the CUDA spelling against the device's own, under morph and its alternatives."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
from typing import Any

from benchmarks.ways import WAYS, in_processes
from morph.verification.measurement.calls import CALLS, figures


def measured(way: str, backend: str) -> list[dict[str, Any]]:
    """Measure every call in this process under ``way``."""
    WAYS[way](backend)
    return [{**dataclasses.asdict(each), "ratio": each.ratio} for each in figures(backend)]


def show(results: dict[str, Any]) -> None:
    """Print a table of ratios and nanoseconds with one column per way."""
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
    return "fails" if row["error"] else f"{row['ratio']:5.2f}x {row['cuda']:7,.0f} ns"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default=os.environ.get("MORPH_BACKEND", "npu"))
    parser.add_argument("--with", dest="ways", nargs="+", default=["morph"], choices=WAYS)
    parser.add_argument("--only", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.only:
        print(json.dumps(measured(arguments.only, arguments.backend)))
        return
    results = in_processes("benchmarks.calls", arguments.ways, arguments.backend)
    if arguments.json:
        print(json.dumps(results))
    else:
        show(results)


if __name__ == "__main__":
    main()

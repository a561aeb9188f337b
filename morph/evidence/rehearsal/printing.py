"""Results of rehearsals as tables on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import IO

from rich.console import Console

from morph.backends.tables.table import Status
from morph.base import display
from morph.evidence.rehearsal.findings import Finding, Result, Verdict, short

STYLES = {
    **dict.fromkeys((Status.SAME, Status.RENAMED, Status.ADAPTED), "green"),
    **dict.fromkeys((Status.EMULATED, Status.NOOP), "yellow"),
    Status.MISSING: "red",
}
VERDICT_STYLES = {
    Verdict.RUNS: "bold green",
    Verdict.DIFFERS: "bold yellow",
    Verdict.STOPS: "bold red",
    Verdict.UNKNOWN: "bold red",
}


def print_result(result: Result, file: IO[str] | None = None) -> None:
    """Print every CUDA name that the program used, the operators below Python, and the verdict.

    Args:
        result: The result on one vendor's device.
        file: Where to; standard error unless given.
    """
    console = display.console(file or sys.stderr)
    shown = display.columns("name", "count", "first use", "status")
    for finding in result.findings:
        use, status = finding.use, _styled(finding.status)
        shown.add_row(use.name, str(use.count), _place(finding), status)
    for name, count in sorted(result.operators.items()):
        shown.add_row(name, str(count), "", 'on "cuda", below Python')
    if shown.row_count:
        console.print(shown)
    for finding in result.findings:
        if finding.note:
            console.print(f"{finding.use.name}: {finding.note}", markup=False)
    _print_verdict(result, console)


def print_results(results: Sequence[Result], file: IO[str] | None = None) -> None:
    """Print one column per vendor, and the verdicts.

    Args:
        results: The results for one program, one for each vendor's device.
        file: Where to; standard error unless given.
    """
    console = display.console(file or sys.stderr)
    found = {each.backend: {one.use.name: one for one in each.findings} for each in results}
    shown = display.columns("name", "first use", *found)
    for name in sorted({name for findings in found.values() for name in findings}):
        row = [findings.get(name) for findings in found.values()]
        first = next(each for each in row if each is not None)
        shown.add_row(name, _place(first), *(_styled(each.status) if each else "" for each in row))
    if shown.row_count:
        console.print(shown)
    for each in results:
        _print_verdict(each, console)


def _print_verdict(result: Result, console: Console) -> None:
    console.print(result.said, style=VERDICT_STYLES[result.verdict], soft_wrap=True, markup=False)


def _styled(status: Status) -> str:
    return f"[{STYLES[status]}]{status.value}[/]"


def _place(finding: Finding) -> str:
    return f"{short(finding.use.file)}:{finding.use.line}"

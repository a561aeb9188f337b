"""``morph doctor``: the problems of this environment, and their remedies."""

from __future__ import annotations

import argparse
import dataclasses
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from morph.diagnosis.findings import Finding

STYLES = {"NOTE": "dim", "WARNING": "yellow", "ERROR": "bold red"}

EXAMPLE = "doctor"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.epilog = "Exit status: 0 if there are no problems or only notes, 1 for warnings, 2 for errors."


def run(arguments: argparse.Namespace) -> int:
    """Print the findings, and return the severity of the worst."""
    from morph.diagnosis import survey
    from morph.diagnosis.findings import findings
    from morph.display import looking

    with looking("looking for problems") as progress:
        found = findings(survey(progress))
    if arguments.json:
        rows = [{**dataclasses.asdict(each), "severity": each.severity.name.lower()} for each in found]
        print(json.dumps(rows, indent=1))
    else:
        _print(found)
    return max((int(each.severity) for each in found), default=0)


def _print(found: list[Finding]) -> None:
    from rich.markup import escape
    from rich.padding import Padding

    from morph.display import console

    screen = console()
    for each in found:
        name = each.severity.name
        as_one_line = not screen.is_terminal  # not wrapped for another program
        screen.print(f"[{STYLES[name]}]{name.lower()}[/]: {escape(each.problem)}", soft_wrap=as_one_line)
        screen.print(Padding(escape(each.remedy), (0, 0, 0, 2), expand=False), soft_wrap=as_one_line)
    if not found:
        screen.print("no problems found")

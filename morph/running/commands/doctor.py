"""``morph doctor``: this environment for a report of a bug, its problems, and their remedies."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Mapping

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from morph.base.display import console, escaped, looking, printable
from morph.running.diagnosis import survey
from morph.running.diagnosis.description import Section, describe
from morph.running.diagnosis.findings import Finding, findings

STYLES = {"NOTE": "dim", "WARNING": "yellow", "ERROR": "bold red"}

EXAMPLE = "doctor"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.epilog = "Exit status: 0 if there are no problems or only notes, 1 for warnings, 2 for errors."


def run(arguments: argparse.Namespace) -> int:
    """Print the environment and the findings, and return the severity of the worst."""
    with looking("looking for problems") as progress:
        surveyed = survey(progress)
        description, found = describe(surveyed), findings(surveyed)
    if arguments.json:
        rows = [{**dataclasses.asdict(each), "severity": each.severity.name.lower()} for each in found]
        print(json.dumps({"findings": rows, "description": description}, indent=1))
    else:
        screen = console()
        _print_description(description, screen)
        _print_findings(found, screen)
    return max((int(each.severity) for each in found), default=0)


def _print_description(description: Mapping[str, Section], screen: Console) -> None:
    for title, section in description.items():
        if section:
            screen.print(f"[bold]{title}[/]")
            _print_section(section, screen)
            screen.print()


def _print_section(section: Section, screen: Console) -> None:
    if not screen.is_terminal:  # not wrapped for another program, or for an editor
        for name, text in section.items():
            screen.print(f"  {printable(name)}: {printable(text)}", markup=False, soft_wrap=True)
        return
    shown = Table.grid(padding=(0, 0, 0, 2))
    shown.add_column(overflow="fold", max_width=screen.width // 2)
    shown.add_column(overflow="fold")
    for name, text in section.items():
        shown.add_row(escaped(name), escaped(text))
    screen.print(shown)


def _print_findings(found: list[Finding], screen: Console) -> None:
    screen.print("[bold]problems[/]" if found else "no problems found")
    for each in found:
        name = each.severity.name
        as_one_line = not screen.is_terminal  # not wrapped for another program
        screen.print(f"[{STYLES[name]}]{name.lower()}[/]: {escape(each.problem)}", soft_wrap=as_one_line)
        screen.print(Padding(escape(each.remedy), (0, 0, 0, 2), expand=False), soft_wrap=as_one_line)

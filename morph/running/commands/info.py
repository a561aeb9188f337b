"""``morph info``: the installed packages, the devices, and the backend that would be chosen."""

from __future__ import annotations

import argparse
import dataclasses
import json

from rich.table import Table

from morph.base.display import columns, console, looking
from morph.running.diagnosis import Survey, survey

EXAMPLE = "info --json"
GIB = 1 << 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(arguments: argparse.Namespace) -> int:
    """Print the survey, and return 0, or 1 if no backend could be chosen."""
    with looking("looking for devices") as progress:
        found = survey(progress)
    if arguments.json:
        print(json.dumps(dataclasses.asdict(found), indent=1))
    else:
        _print(found)
    return 0 if found.activation.problem is None else 1


def _print(found: Survey) -> None:
    screen = console()
    torch = f"torch {found.torch}" if found.torch else "no torch"
    screen.print(f"morph {found.morph}, {torch}, Python {found.python}, {found.platform}\n")
    screen.print(_backends(found))
    reason = found.reason if found.torch else "torch is not installed"
    screen.print(f"\n[bold]cuda is {found.activation.backend or 'nothing'}[/]: {reason}")
    for index, device in enumerate(found.activation.devices):
        screen.print(f"  cuda:{index}  {device.name}, {device.memory / GIB:.1f} GiB")
    screen.print("\n[bold]packages[/]")
    for package in found.packages:
        screen.print(f"  {package.name}: {package.origin}")


def _backends(found: Survey) -> Table:
    shown = columns("backend", "", "package", "devices")
    for presence in found.backends:
        chosen = "*" if presence.name == found.activation.backend else ""
        shown.add_row(f"{presence.name}{chosen}", presence.title, presence.package, presence.found)
    return shown

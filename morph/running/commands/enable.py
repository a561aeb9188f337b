"""``morph enable``: run every Python of an environment under morph."""

from __future__ import annotations

import argparse
import sys

from morph.base.announcement import launcher
from morph.running import environment

EXAMPLE = "enable --backend npu --package sam2"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument(
        "--backend", metavar="NAME", help="the backend (default: the first with an available device)"
    )
    help = "a top-level package whose code sees CUDA, beside the program itself; can be repeated"
    parser.add_argument("--package", metavar="NAME", dest="packages", action="append", help=help)
    add_dry_run(parser)


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    """Describe the option that this command and ``disable`` share."""
    parser.add_argument("--dry-run", action="store_true", help="show the changes without making them")


def run(arguments: argparse.Namespace) -> int:
    """Show the changes, make them, and return 0."""
    changes = environment.enabling(environment.find(), arguments.backend, arguments.packages)
    outcome = f"every Python of {sys.prefix} runs under morph, {environment.UNTIL}"
    return make(changes, outcome, dry_run=arguments.dry_run)


def make(changes: list[environment.Change], outcome: str, *, dry_run: bool) -> int:
    """Show the changes, make them unless it is a dry run, and return 0."""
    for change in changes:
        print(change)
    if dry_run:
        print("nothing was changed" if changes else "there is nothing to change")
        return 0
    environment.apply(changes)
    print(f"{outcome}; see {launcher()} status")
    return 0

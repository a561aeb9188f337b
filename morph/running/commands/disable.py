"""``morph disable``: the opposite of ``morph enable``."""

from __future__ import annotations

import argparse
import sys

from morph.running import environment
from morph.running.commands.enable import add_dry_run, make

EXAMPLE = "disable --dry-run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    add_dry_run(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show the changes, make them, and return 0."""
    changes = environment.disabling(environment.find())
    return make(changes, f"no Python of {sys.prefix} starts under morph", dry_run=arguments.dry_run)

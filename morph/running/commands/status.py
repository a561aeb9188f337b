"""``morph status``: show whether every Python of this environment runs under morph."""

from __future__ import annotations

import argparse
import dataclasses
import json

from morph.base.announcement import launcher
from morph.running import environment
from morph.running.environment import State

EXAMPLE = "status"
ENABLED, NOT_ENABLED, DEFECTIVE = 0, 1, 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(arguments: argparse.Namespace) -> int:
    """Print the state; return 0 if enabled, 1 if not, and 3 if there is a problem with the files."""
    found = environment.state()
    print(json.dumps(dataclasses.asdict(found), indent=1) if arguments.json else _told(found))
    if found.problems:
        return DEFECTIVE
    return ENABLED if found.enabled else NOT_ENABLED


def _told(found: State) -> str:
    lines = [f"{found.prefix} is {'enabled' if found.enabled else 'not enabled'}"]
    lines += [f"  {file}" for file in found.files]
    lines += [f"problem: {problem}" for problem in found.problems]
    if found.obstacle:
        lines.append(f"it cannot be enabled: {found.obstacle}")
    elif not found.enabled:
        lines.append(f"{launcher()} enable makes every Python of it run under morph, {environment.UNTIL}")
    return "\n".join(lines)

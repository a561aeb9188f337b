"""The commands of ``morph``, one module each; a command line that begins with none of them runs a program.

A command's module has ``EXAMPLE``, a command line for its help; ``add_arguments(parser)``, which describes
its command line to argparse; and ``run(arguments)``, which returns the exit status. It may raise a
``MorphError``, which becomes one line.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

COMMANDS = {
    "bench": "measure what calls in CUDA's spelling cost beside the device's own",
    "check": "find what a program asks of CUDA, in its source, and how each backend serves it",
    "completion": "print what makes a shell complete the words of morph",
    "config": "print the settings that count, and where each is said",
    "coverage": "show which CUDA names work on which backend, and how that is known",
    "disable": "have no Python of this environment run under morph by itself any more",
    "doctor": "say what is wrong in this environment, and what to do about it",
    "enable": "have every Python of this environment run under morph by itself",
    "explain": "say what serves a CUDA name on each backend, and why",
    "info": "show what is installed, which devices are there, and which backend would be chosen",
    "port": "rewrite CUDA-only source to device-agnostic PyTorch",
    "status": "tell whether every Python of this environment runs under morph",
    "surface": "record the names of an installed package, and compare recordings",
    "verify": "check that the device computes what the CPU does",
}
LAUNCHER = "python -m morph"


def is_command(words: Sequence[str]) -> bool:
    """Tell whether a command line begins with a command, and not with a program or an option."""
    return bool(words) and words[0] in COMMANDS


def run(words: Sequence[str]) -> int:
    """Run the command that a command line begins with.

    Args:
        words: The command line without the name of the program; ``is_command(words)`` is true.

    Returns:
        The exit status: the command's own, or 2 after one line that says what went wrong.

    Raises:
        SystemExit: If the words cannot be understood, or ask for help.
    """
    import argparse
    import importlib

    from morph.errors import MorphError

    name, *rest = words
    command = importlib.import_module(f"{__name__}.{name}")
    parser = argparse.ArgumentParser(prog=f"{LAUNCHER} {name}", description=_sentence(COMMANDS[name]))
    command.add_arguments(parser)
    parser.epilog = " ".join(filter(None, [parser.epilog, f"Example: {LAUNCHER} {command.EXAMPLE}"]))
    try:
        status: int = command.run(parser.parse_args(rest))
    except MorphError as error:
        print(f"morph: {error}", file=sys.stderr)
        return 2
    return status


def summary() -> str:
    """Return the lines on the commands for the help of ``morph`` itself."""
    width = max(map(len, COMMANDS)) + 2
    return "\n".join(f"  {name:{width}}{said}" for name, said in COMMANDS.items())


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."

"""``morph config``: the effective settings and the source of each."""

from __future__ import annotations

import argparse
import json
import pathlib

from morph.activation import configuration
from morph.activation.configuration import DEFAULT, Setting
from morph.base.display import columns, console
from morph.base.errors import MorphError

EXAMPLE = "config train.py"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    help = "the program whose project's configuration is read (default: that of the current folder)"
    parser.add_argument("program", metavar="PROGRAM", nargs="?", type=pathlib.Path, help=help)
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(arguments: argparse.Namespace) -> int:
    """Print the settings, and return 0.

    Raises:
        MorphError: If there is no such program.
    """
    if arguments.program is not None and not arguments.program.exists():
        raise MorphError(f"there is no program {str(arguments.program)!r}")
    settings = configuration.effective(_folder(arguments.program))
    if arguments.json:
        print(json.dumps([setting._asdict() for setting in settings.listed], indent=1))
    else:
        _print(settings.listed)
    return 0


def _folder(program: pathlib.Path | None) -> pathlib.Path:
    path = (program or pathlib.Path()).resolve()
    return path if path.is_dir() else path.parent


def _print(listed: tuple[Setting, ...]) -> None:
    shown = columns("key", "value", "said by")
    for setting in listed:
        shown.add_row(setting.key, setting.text, "" if setting.place == DEFAULT else setting.place)
    console().print(shown)

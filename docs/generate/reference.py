"""The help of morph's commands, and the program that the recorded screens are of, as Markdown."""

from __future__ import annotations

import contextlib
import io
import os

from docs.generate.rooms import ROOT
from morph.base.announcement import launcher
from morph.running import commands
from morph.running.commands import help as overview

PROGRAM = "tests/commands/screens/train.py"
COLUMNS = "80"  # as on the terminal that help is written for


def options() -> str:
    """Return the help of morph itself."""
    return _screen(overview.text())


def each_command() -> str:
    """Return the help of each command."""
    names = [name for name in commands.COMMANDS if name != "help"]
    return "\n\n".join(f"## morph {name}\n\n{_screen(_help(name))}" for name in names)


def program() -> str:
    """Return the program that the recorded screens of commands are of."""
    return f"```python\n{(ROOT / PROGRAM).read_text(encoding='utf-8').strip()}\n```"


def _help(name: str) -> str:
    written, columns = io.StringIO(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = COLUMNS
    try:
        with contextlib.redirect_stdout(written), contextlib.suppress(SystemExit):
            commands.run([name, "--help"])
    finally:
        os.environ.pop("COLUMNS")
        os.environ |= {} if columns is None else {"COLUMNS": columns}
    return written.getvalue()


def _screen(text: str) -> str:
    return f"```text\n{text.replace(launcher(), 'morph').strip()}\n```"

"""The output of commands: formatted on a terminal, plain in a pipe."""

from __future__ import annotations

import contextlib
import json
import pathlib
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import IO, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

WIDTH = 140  # columns, without a terminal


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise  # raise it as print() does; rich would end the process


def console(file: IO[str] | None = None) -> Console:
    """Return a console on ``file``, standard output unless given; ``NO_COLOR`` is honoured."""
    made = _Console(file=file or sys.stdout, highlight=False)
    if not made.is_terminal:
        made.width = WIDTH
    return made


def columns(*titles: str) -> Table:
    """Return an empty table without lines, whose last column is for long text."""
    table = Table(box=None, pad_edge=False)
    for title in titles[:-1]:
        table.add_column(title, no_wrap=True)
    table.add_column(titles[-1], overflow="fold")
    return table


def printable(text: str, keep: str = "") -> str:
    """Return text without what would drive a terminal, or could not be encoded: it is spelled as Python does.

    Args:
        text: What may hold anything, such as the name of a file.
        keep: The control characters that stay.
    """
    plain = {each: each.encode("unicode_escape").decode() for each in text if not each.isprintable()}
    return "".join(each if each in keep else plain.get(each, each) for each in text)


def escaped(text: str) -> str:
    """Return printable text that is no markup of rich's either."""
    return escape(printable(text))


def wrapped(text: str, width: int, first: str = "", rest: str = "", lines: int | None = None) -> str:
    """Return printable text in lines, which words, names and paths are not broken for.

    Args:
        text: The text.
        width: The width of a line, which a long word may exceed.
        first: What the first line begins with.
        rest: What the other lines begin with.
        lines: The most lines; what is left of the text is then an ellipsis.
    """
    return textwrap.fill(
        printable(text),
        width,
        initial_indent=first,
        subsequent_indent=rest,
        max_lines=lines,
        placeholder=" …",
        break_long_words=False,
        break_on_hyphens=False,
    )


def counted(count: int, what: str) -> str:
    """Return a count with its noun: ``1 file``, ``2 files``."""
    return f"{count} {what}{'' if count == 1 else 's'}"


@contextlib.contextmanager
def looking(what: str) -> Iterator[Callable[[str], None]]:
    """Show progress on a terminal; show nothing in a pipe.

    Yields:
        A function to call with the current item.
    """
    screen = console(sys.stderr)
    with screen.status(what) if screen.is_terminal else contextlib.nullcontext() as status:
        yield lambda title: status.update(f"{what}: {escaped(title)}") if status else None


def write_json(path: str, content: dict[str, Any]) -> None:
    """Write a document to a file; ``"-"`` is standard output."""
    text = json.dumps(content, indent=1) + "\n"
    if path == "-":
        sys.stdout.write(text)
    else:
        pathlib.Path(path).write_text(text, encoding="utf-8")

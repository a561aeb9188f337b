"""``morph port``: rewrite CUDA-only source to device-agnostic PyTorch."""

from __future__ import annotations

import argparse
import difflib
import os
import pathlib
import re
import shutil
import sys
from collections.abc import Iterator

from morph.base.display import console, counted, looking, printable
from morph.base.errors import MorphError
from morph.source.port.porting import Ported, port
from morph.source.scan.files import CUDA, files
from morph.source.scan.notebooks import NOTEBOOK
from morph.source.scan.scanning import UNREADABLE, unparsed

EXAMPLE = "port train.py"
LEFT = 1
EPILOG = f"""\
The rewritten source needs neither morph nor CUDA. Exit status: 0 if everything could be rewritten,
{LEFT} if something is left to a person, listed with file and line, 2 if a path does not exist."""
STYLES = {b"+": "green", b"-": "red", b"@": "cyan"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="a file, or a folder with everything below it"
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--diff", action="store_true", help="print what would change (the default)")
    action.add_argument("--write", action="store_true", help="change the files")
    parser.epilog = EPILOG


def run(arguments: argparse.Namespace) -> int:
    """Print or write the changes, list the rest, and return the exit status.

    Raises:
        MorphError: If a path does not exist.
    """
    left: list[str] = []
    changed: list[tuple[pathlib.Path, Ported]] = []
    unread = 0
    found = [file for file in files(arguments.paths) if file.suffix not in CUDA]
    with looking("porting") as progress:
        for file in found:
            progress(str(file))
            ported, problems = _port(file)
            left += problems
            unread += ported is None
            if ported is not None and ported.after != ported.before:
                changed.append((file, ported))
    for file, ported in changed:
        _write(file, ported) if arguments.write else _show(file, ported)
    for line in left:
        print(printable(line), file=sys.stderr)
    verb = "changed" if arguments.write else "to change"
    files_found, uses = counted(len(found), "file"), counted(len(left) - unread, "use")
    not_read = f", {counted(unread, 'file')} not read" if unread else ""
    print(f"{len(changed)} of {files_found} {verb}, {uses} of CUDA left{not_read}", file=sys.stderr)
    return LEFT if left else 0


def _port(file: pathlib.Path) -> tuple[Ported | None, list[str]]:
    """Port a file, and return a line for each use left to a person."""
    if file.suffix == NOTEBOOK:
        return None, [
            f"{file}:1: cannot port a notebook: make a script of it by jupyter nbconvert --to script"
        ]
    try:
        ported = port(file)
    except UNREADABLE as error:
        problem = unparsed(file, error)
        return None, [f"{file}:{problem.line}: {problem.message}"]
    return ported, [f"{file}:{each.line}: {each}" for each in ported.left]


def _write(file: pathlib.Path, ported: Ported) -> None:
    """Replace a file atomically, so that an error loses neither the old nor the new content."""
    place = file.resolve()  # not the link to it
    written = place.with_name(f".{place.name}.ported")
    try:
        written.write_bytes(ported.after)
        shutil.copymode(place, written)
        os.replace(written, place)
    except OSError as error:
        written.unlink(missing_ok=True)
        raise MorphError(f"cannot write {printable(str(file))}: {error.strerror}") from None
    print(printable(str(file)))


def _show(file: pathlib.Path, ported: Ported) -> None:
    """Print a diff: in colours on a terminal, else in the file's own bytes, for ``patch -p1``."""
    screen = console()
    for line in _diff(file, ported):
        if screen.is_terminal:
            text, style = line.decode(errors="replace"), STYLES.get(line[:1], "")
            screen.print(printable(text, keep="\t\n\f"), style=style, markup=False, end="", soft_wrap=True)
        else:
            sys.stdout.buffer.write(line)
    sys.stdout.flush()


def _diff(file: pathlib.Path, ported: Ported) -> Iterator[bytes]:
    """Yield the lines of a unified diff; a last line without a newline is marked."""
    before, after = (re.findall(b"[^\n]*\n|[^\n]+", text) for text in (ported.before, ported.after))
    old, new = (_quoted(f"{side}/{file.as_posix().lstrip('/')}") for side in "ab")
    for line in difflib.diff_bytes(difflib.unified_diff, before, after, old, new):
        yield line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"


def _quoted(name: str) -> bytes:
    """Return a file's name as `patch` and git read it: in quotation marks if it has anything unusual."""
    if name.isprintable() and not {*name} & {*'"\\'}:
        return name.encode()
    data = os.fsencode(name)
    plain = (chr(each) if 32 <= each < 127 and each not in b'"\\' else f"\\{each:03o}" for each in data)
    return f'"{"".join(plain)}"'.encode()

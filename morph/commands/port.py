"""``morph port``: CUDA-only source, rewritten to device-agnostic PyTorch."""

from __future__ import annotations

import argparse
import difflib
import importlib.util
import pathlib
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from morph.errors import MorphError

if TYPE_CHECKING:
    from morph.port.porting import Ported

EXAMPLE = "port train.py"
LEFT = 1
EPILOG = f"""\
What it rewrites needs neither morph nor CUDA any more. Exit status: 0 if all of it could be rewritten,
{LEFT} if something is left for a person, which is listed with file and line, 2 if a path does not exist."""
STYLES = {"+": "green", "-": "red", "@": "cyan"}


class LibcstMissingError(MorphError):
    """The package that rewrites source is not installed."""

    def __init__(self) -> None:
        super().__init__("porting needs libcst: python -m pip install 'torch-morph[port]'")


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
    """Print or write what changes, list what does not, and return the exit status.

    Raises:
        MorphError: If libcst is not installed, or a path does not exist.
    """
    if importlib.util.find_spec("libcst") is None:
        raise LibcstMissingError
    from morph.display import looking
    from morph.scan.files import files

    left, changed = [], 0
    found = [file for file in files(arguments.paths) if file.suffix not in (".cu", ".cuh")]
    with looking("porting") as progress:
        for file in found:
            progress(str(file))
            ported, problems = _port(file)
            left += problems
            if ported is not None and ported.after != ported.before:
                changed += 1
                _write(file, ported) if arguments.write else _show(file, ported)
    for line in left:
        print(line, file=sys.stderr)
    verb = "changed" if arguments.write else "to change"
    print(f"{changed} of {len(found)} files {verb}, {len(left)} uses of CUDA left", file=sys.stderr)
    return LEFT if left else 0


def _port(file: pathlib.Path) -> tuple[Ported | None, list[str]]:
    """Port a file; what is left for a person comes as lines."""
    from morph.port.porting import port
    from morph.scan.scanning import UNREADABLE, unparsed

    try:
        ported = port(file)
    except UNREADABLE as error:
        problem = unparsed(file, error)
        return None, [f"{file}:{problem.line}: {problem.message}"]
    return ported, [f"{file}:{each.line}: {each.name}: {each.reason}" for each in ported.left]


def _write(file: pathlib.Path, ported: Ported) -> None:
    try:
        file.write_bytes(ported.after)
    except OSError as error:
        raise MorphError(f"cannot write {file}: {error.strerror}") from None
    print(file)


def _show(file: pathlib.Path, ported: Ported) -> None:
    from morph.display import console

    screen = console()
    for line in _diff(file, ported):
        if screen.is_terminal:
            screen.print(line, style=STYLES.get(line[:1], ""), markup=False, end="", soft_wrap=True)
        else:
            sys.stdout.write(line)


def _diff(file: pathlib.Path, ported: Ported) -> Iterator[str]:
    """Yield the lines of a unified diff, which `patch -p1` takes."""
    from morph.scan.scanning import decoded

    before, after = (decoded(text).splitlines(keepends=True) for text in (ported.before, ported.after))
    name = file.as_posix().lstrip("/")
    yield from _ended(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}"))


def _ended(lines: Iterable[str]) -> Iterator[str]:
    """Yield ``lines``, of which the last of a file may have no end."""
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"

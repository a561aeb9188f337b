"""``morph explain NAME``: what serves a CUDA name on each backend, and why."""

from __future__ import annotations

import argparse
import difflib
import json
from typing import TYPE_CHECKING, Any

from morph.errors import MorphError

if TYPE_CHECKING:
    from morph.aliases.rows import Row

EXAMPLE = "explain torch.cuda.CUDAGraph --backend npu"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument(
        "name", metavar="NAME", help="a dotted name: torch.cuda.CUDAGraph, apex.amp.initialize"
    )
    parser.add_argument("--backend", help="tell of this backend only")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.epilog = "Exit status: 0, or 2 if there is no such name."


def run(arguments: argparse.Namespace) -> int:
    """Print what serves the name, and return 0.

    Raises:
        MorphError: If there is no such name; tells the close ones.
    """
    name = arguments.name
    if not _is_known(name):
        raise MorphError(_unknown(name))
    rows = _rows(name, arguments.backend)
    if arguments.json:
        print(json.dumps({backend: _fields(row) for backend, row in rows.items()}, indent=1))
    else:
        _print(name, rows)
    return 0


def _unknown(name: str) -> str:
    close = difflib.get_close_matches(name, _names(), cutoff=0.7)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    return f"there is no {name}{hint}"


def _rows(name: str, backend: str | None) -> dict[str, Row]:
    from morph.aliases import package as packages
    from morph.aliases import table
    from morph.aliases.decisions import decide

    package = name.partition(".")[0]
    if package in packages.names():
        return {"every backend": packages.load(package).rows[name]}
    names = [backend] if backend else table.backend_names()
    return {each: decide(table.load(each), name) for each in names}


def _is_known(name: str) -> bool:
    from morph import surfaces
    from morph.aliases.decisions import CUDA_SURFACE

    return name in _names() or surfaces.load(CUDA_SURFACE).has(name)


def _names() -> set[str]:
    """Return every name that a table, a package or the recorded surface of torch.cuda has."""
    from morph import surfaces
    from morph.aliases import package as packages
    from morph.aliases import table
    from morph.aliases.decisions import CUDA_SURFACE

    tables = {name for backend in table.backend_names() for name in table.load(backend).rows}
    served = {name for package in packages.names() for name in packages.load(package).rows}
    return tables | served | set(surfaces.load(CUDA_SURFACE).names)


def _fields(row: Row) -> dict[str, Any]:
    return {"status": row.status.value, "target": row.target, "adapter": row.adapter, "note": row.note}


def _print(name: str, rows: dict[str, Row]) -> None:
    from morph.display import columns, console

    shown = columns("backend", "status", "served by", "note")
    for backend, row in rows.items():
        shown.add_row(backend, row.status.value, row.target or row.adapter, row.note)
    screen = console()
    screen.print(f"[bold]{name}[/]")
    screen.print(shown)

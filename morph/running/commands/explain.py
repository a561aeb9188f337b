"""``morph explain NAME``: how each backend serves a CUDA name, or a name of a served package, and why."""

from __future__ import annotations

import argparse
import json
from difflib import get_close_matches as close_matches
from typing import Any

from rich.markup import escape

from morph.backends.autoload import import_torch
from morph.backends.tables import decisions, interfaces, surfaces, table
from morph.backends.tables.rows import Row
from morph.base.display import columns, console, escaped
from morph.base.errors import MorphError
from morph.evidence.coverage.evidence import Rung, shipped

EXAMPLE = "explain torch.cuda.CUDAGraph --backend npu"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument(
        "name", metavar="NAME", help="a dotted name, or its end: torch.cuda.CUDAGraph, CUDAGraph"
    )
    parser.add_argument("--backend", help="show only this backend")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.epilog = "Exit status: 0, or 2 if there is no such name."


def run(arguments: argparse.Namespace) -> int:
    """Print how the name is served, and return 0.

    Raises:
        MorphError: If there is no such name; the message suggests similar ones.
    """
    name, others = _full_name(arguments.name)
    if interfaces.of(name).has(name) or name in interfaces.of(name).modules:
        rows = _rows(name, arguments.backend)
    else:
        name, rows = _rows_of_torch(name, arguments.backend)
    if arguments.json:
        print(json.dumps({backend: _fields(row, backend) for backend, row in rows.items()}, indent=1))
    else:
        _print(name, rows, arguments.backend)
        if others:
            console().print(f"\n[dim]other names that end so: {escaped(', '.join(others))}[/]")
    return 0


def _full_name(name: str) -> tuple[str, list[str]]:
    """Return the name that ``name`` is short for, the one nearest to its package, and its longer ones.

    Raises:
        MorphError: If several names are as near; the message lists them.
    """
    if interfaces.of(name).has(name) or name in interfaces.of(name).modules:
        return name, []
    every = map(interfaces.load, interfaces.names())
    known = (each for interface in every for each in (*interface.names, *interface.modules))
    names = {each for each in known if each.endswith(f".{name}")}
    ordered = sorted(names, key=lambda each: (interfaces.is_private(each), each.count("."), each))
    nearest = [each for each in ordered if each.count(".") == ordered[0].count(".")]
    if len(nearest) > 1:
        raise MorphError(f"{name} is the end of several names; give one of {', '.join(nearest)}")
    return ordered[0] if ordered else name, ordered[1:]


def _unknown(name: str) -> str:
    owner = name.rpartition(".")[0]
    names = [each for of in interfaces.names() for each in interfaces.load(of).names]
    near = [each for each in names if each.rpartition(".")[0] == owner]  # usually the intended module
    close = close_matches(name, near, cutoff=0.8) or close_matches(name, names, cutoff=0.7)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    return f"there is no {name}{hint}"


def _rows(name: str, backend: str | None) -> dict[str, Row]:
    """Return the row of each backend, or one row for all where they agree."""
    names = [backend] if backend else table.backend_names()
    rows = {each: interfaces.of(name).decide(table.load(each), name) for each in names}
    first, *others = rows.values()
    return {"every backend": first} if others and all(row is first for row in others) else rows


def _rows_of_torch(name: str, backend: str | None) -> tuple[str, dict[str, Row]]:
    """Return the whole name of one of torch's outside ``torch.cuda``, and the row of each backend."""
    import_torch()
    from morph.device import names

    full = None if "cuda" in name.split(".")[:-1] else names.full_name(name)
    if full is None:
        raise MorphError(_unknown(name))
    backends = [backend] if backend else table.backend_names()
    return full, {each: names.row(full, table.facts(each)) for each in backends}


def _fields(row: Row, backend: str) -> dict[str, Any]:
    return {
        "status": row.status.value,
        "target": row.target,
        "adapter": row.adapter,
        "note": row.note,
        "evidence": _evidence(row.name, backend),
    }


def _evidence(name: str, backend: str) -> str:
    """Return the evidence for the answer, once for all backends if it is the same on all of them."""
    if not interfaces.of(name).has(name):  # of torch's names, only those of torch.cuda have evidence
        return ""
    names = table.backend_names()
    if backend in names:
        return shipped().rung(name, backend).value
    on = {rung: [each for each in names if shipped().rung(name, each) is rung] for rung in Rung}
    return ", ".join(f"{rung.value} ({', '.join(found)})" for rung, found in on.items() if found)


def _print(name: str, rows: dict[str, Row], backend: str | None) -> None:
    shown = columns("backend", "status", "evidence", "served by")
    shown.columns[2].no_wrap = False  # that of a package names the backends
    for each, row in rows.items():
        served = row.target or row.adapter
        notes = "\n".join(escape(text) for text in (served, row.note) if text)
        shown.add_row(each, row.status.value, _evidence(row.name, each), notes)
    screen = console()
    screen.print(f"[bold]{escape(name)}[/]")
    screen.print(shown)
    members = columns("member", "status", "")
    for row in _members(name, backend) if backend else ():
        members.add_row(f".{row.name.rpartition('.')[2]}", row.status.value, escape(row.note or row.target))
    if members.rows:
        screen.print()
        screen.print(members)


def _members(name: str, backend: str) -> list[Row]:
    """Return how a class's members are served that have rows of their own."""
    if name not in surfaces.load_nearest(decisions.CUDA_SURFACE).classes:
        return []
    rows = table.load(backend).rows.values()
    return [row for row in rows if row.name.rpartition(".")[0] == name]

"""How a backend serves a CUDA name, whether or not its table has a row for it."""

from __future__ import annotations

from typing import Any

from morph import surfaces
from morph.aliases.rows import Row, Status, Table
from morph.backends import resolve

ROOT = "torch.cuda"
CUDA_SURFACE = "torch_cuda-2.13.0"


def decide(table: Table, name: str) -> Row:
    """Return how a backend serves the CUDA name ``name``.

    Where no row decides, the vendor's recorded surface does; for a backend without one (the CPU) torch itself
    is imported and asked.

    Args:
        table: The backend's.
        name: A dotted name, that of a class's member included.
    """
    row = table.row(name)
    if row is not None:
        return row
    owner = table.rows.get(name.rpartition(".")[0])
    if owner is not None and owner.status in (Status.ADAPTED, Status.EMULATED):
        return _member(name, owner)
    if not name.startswith(f"{ROOT}."):
        return Row(name, Status.SAME, target=name, note="torch's own")
    return _by_place(table, name, owner)


def _member(name: str, owner: Row) -> Row:
    """Return how the member of a class of morph's, or of one that it adapts, is served."""
    made = _resolved(owner.adapter.replace(":", "."))
    if isinstance(made, type) and not owner.target and not hasattr(made, name.rpartition(".")[2]):
        return Row(name, Status.MISSING, note=f"{owner.name} has no such member here")
    return Row(name, owner.status, note=owner.note)


def _by_place(table: Table, name: str, owner: Row | None) -> Row:
    place = table.facts.module + name.removeprefix(ROOT)
    if owner is not None and owner.status is Status.RENAMED:
        place = f"{owner.target}.{name.rpartition('.')[2]}"
    if _exists(table, place):
        return Row(name, Status.SAME, target=place)
    if name in surfaces.load(CUDA_SURFACE).modules:
        return Row(name, Status.SAME, target=name)
    if _is_private(name):
        return Row(name, Status.SAME, target=name, note="torch's own")
    return Row(name, Status.MISSING, note=f"{table.facts.module} has no such name")


def _exists(table: Table, place: str) -> bool:
    if table.facts.surface:
        return surfaces.load(table.facts.surface).has(place)
    try:
        return _resolved(place) is not None
    except AttributeError:
        return False


def _resolved(name: str) -> Any:
    from morph.backends.autoload import import_torch

    import_torch()  # without a vendor's package, which may be broken and is not asked
    return resolve(name)


def _is_private(name: str) -> bool:
    return any(part.startswith("_") for part in name.split("."))

"""The decision how a backend serves a CUDA name, whether or not its table has a row for it."""

from __future__ import annotations

from morph.backends.tables import surfaces
from morph.backends.tables.members import has_member
from morph.backends.tables.rows import Row, Status, Table

ROOT = "torch.cuda"
CPU_SURFACE = "torch_cpu-2.13.0"
CUDA_SURFACE = "torch_cuda-2.13.0"


def decide(table: Table, name: str) -> Row:
    """Return how a backend serves the CUDA name ``name``.

    Where no row decides, the recorded surface does: neither torch nor a vendor's package is imported, which
    may be broken or missing.

    Args:
        table: The backend's table.
        name: A dotted name, that of a class's member included.
    """
    row = table.row(name) or _row_of_alias(table, name)
    if row is not None:
        return row
    owner = table.rows.get(name.rpartition(".")[0])
    if owner is not None and owner.status in (Status.ADAPTED, Status.EMULATED):
        return _member(name, owner)
    if not name.startswith(f"{ROOT}."):
        return Row(name, Status.SAME, target=name, note="torch's own")
    return _by_place(table, name, owner)


def _row_of_alias(table: Table, name: str) -> Row | None:
    """Return the row of a class's member under another name of the class."""
    classes = surfaces.load_nearest(CUDA_SURFACE).classes
    owner, _, member = name.rpartition(".")
    if owner not in classes:
        return None
    others = (other for other in classes if classes[other].home == classes[owner].home)
    found = next(filter(None, (table.rows.get(f"{other}.{member}") for other in others)), None)
    return found._replace(name=name) if found else None


def _member(name: str, owner: Row) -> Row:
    """Return how a member of one of morph's classes, or of a class that it adapts, is served."""
    member, recorded = name.rpartition(".")[2], surfaces.load_nearest(CUDA_SURFACE)
    is_of_class = owner.name in recorded.classes and not member.startswith("__")  # others' are not recorded
    is_known = recorded.has(name) and has_member(owner.adapter, member)
    if is_of_class and not owner.target and not is_known:
        return Row(name, Status.MISSING, note=f"{owner.name} has no such member here")
    return Row(name, owner.status, note=owner.note)


def _by_place(table: Table, name: str, owner: Row | None) -> Row:
    place = table.facts.module + name.removeprefix(ROOT)
    if owner is not None and owner.status is Status.RENAMED:
        place = f"{owner.target}.{name.rpartition('.')[2]}"
        if not place.startswith(f"{table.facts.module}."):
            return Row(name, Status.SAME, target=place, note="torch's own")
    if _exists(table, place):
        return Row(name, Status.SAME, target=place)
    if name in surfaces.load_nearest(CUDA_SURFACE).modules:
        return Row(name, Status.SAME, target=name)
    if any(part.startswith("_") for part in name.split(".")):
        return Row(name, Status.SAME, target=name, note="torch's own")
    return Row(name, Status.MISSING, note=f"{table.facts.module} has no such name")


def _exists(table: Table, place: str) -> bool:
    surface = table.facts.surface or (CPU_SURFACE if table.facts.module == "torch.cpu" else "")
    return bool(surface) and surfaces.load_nearest(surface).has(place)

"""The pages on the rooms, and the list of them in the navigation."""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Iterable, Mapping

from docs.generate import picture
from docs.generate.rooms import ROOT, Room, rooms, summary
from docs.generate.tables import table

Entries = list[dict[str, object]]


def image() -> str:
    """Return the picture of all rooms, each with a link to its page."""
    return picture.svg(lambda name: _address(rooms()[name]))


def listing() -> str:
    """Return the rooms and the files beside them, with links that hold in the repository too."""
    rows = [[f"[{room.path}](../../{room.path})", room.summary] for room in rooms().values()]
    return table(["room", "what it does"], rows)


@functools.cache
def missing_pages() -> Mapping[str, str]:
    """Return the pages of the rooms that have no README of their own, by their paths."""
    alone = [room for room in rooms().values() if room.page and not (ROOT / room.page).is_file()]
    return {str(room.page): f"# {room.name}\n\n{room.summary}\n\n{_files(room)}\n" for room in alone}


def appendix(page: str) -> str:
    """Return what is added to a room's page: its place among the others; nothing for another page."""
    room = next((each for each in rooms().values() if each.page == page), None)
    if room is None:
        return ""
    up = "../" * (page.count("/"))
    above = [each for each in rooms().values() if room.name in each.imports]
    lines = [
        f"**Imports:** {_links((rooms()[name] for name in sorted(room.imports)), up)}.",
        f"**Imported by:** {_links(above, up)}.",
    ]
    return "\n\n## Its place in the house\n\n" + "\n\n".join(lines) + "\n"


def navigation() -> Entries:
    """Return the entries of the rooms' pages, and below them those of the Markdown files in their folders."""
    return [{room.name: _entries(room)} for room in rooms().values() if room.page]


def _entries(room: Room) -> object:
    folders = [
        path.parent for path in sorted((ROOT / room.path).rglob("*.md")) if path.parent != ROOT / room.path
    ]
    beside = [path for path in sorted((ROOT / room.path).glob("*.md")) if path.name != "README.md"]
    pages = [room.page, *(_named(path) for path in beside)]
    inner = [{folder.name: f"{folder.relative_to(ROOT)}/README.md"} for folder in folders]
    return pages + inner if len(pages) + len(inner) > 1 else room.page


def _named(path: pathlib.Path) -> str:
    return str(path.relative_to(ROOT))


def _address(room: Room) -> str | None:
    return f"../../{room.path}/" if room.page else None  # from the page on the architecture


def _link(room: Room, up: str) -> str:
    return f"[{room.name}]({up}{room.page})" if room.page else f"`{room.name}`"


def _links(found: Iterable[Room], up: str) -> str:
    return ", ".join(_link(room, up) for room in found) or "none"


def _files(room: Room) -> str:
    folder = ROOT / room.path
    inner = [path for path in sorted(folder.iterdir()) if (path / "__init__.py").is_file()]
    return "\n\n".join([_table(folder.glob("*.py"), folder), *map(_section, inner)]).strip()


def _section(folder: pathlib.Path) -> str:
    """Return the section of a folder in a room: what is in it, or the link to the page that says so."""
    if (folder / "README.md").is_file():
        said = f"[Its own page]({folder.name}/README.md)"
    else:
        said = _table(folder.rglob("*.py"), folder)
    return f"## {folder.name}\n\n{summary(folder / '__init__.py')}\n\n{said}"


def _table(files: Iterable[pathlib.Path], folder: pathlib.Path) -> str:
    named = [path for path in sorted(files) if path.name != "__init__.py"]
    rows = [[f"`{path.relative_to(folder)}`", summary(path)] for path in named]
    return table(["file", "what it does"], rows) if rows else ""

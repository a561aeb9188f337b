"""The rooms of morph (its subpackages, and the files beside them), and which imports which."""

from __future__ import annotations

import ast
import functools
import graphlib
import pathlib
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACES = {"morph": "morph", "morph.aliases": "aliases", "morph.finders": "finders"}
# executed under other names: served packages, and the file that child processes run first
APART = {ROOT / "aliases" / "packages", ROOT / "morph" / "running" / "startup" / "site"}
FACADE = "morph", "morph.__main__"  # import any room when called


class Room(NamedTuple):
    """A subpackage of morph, or a file beside them.

    Attributes:
        name: Its name below ``morph``.
        path: Its folder or file, from the repository's root.
        summary: The first sentence of its docstring.
        imports: The names of the rooms that it imports.
    """

    name: str
    path: str
    summary: str
    imports: frozenset[str]

    @property
    def page(self) -> str | None:
        """The path of its page, from the repository's root; None for a file."""
        return None if self.path.endswith(".py") else f"{self.path}/README.md"


@functools.cache
def module_files() -> Mapping[str, pathlib.Path]:
    """Return the file of each module of morph, by its installed name."""
    found = {}
    for package, place in PLACES.items():
        for path in (ROOT / place).rglob("*.py"):
            if not APART.intersection(path.parents):
                inside = path.relative_to(ROOT / place).with_suffix("").parts
                found[".".join([package, *inside]).removesuffix(".__init__")] = path
    return found


def modules() -> list[str]:
    """Return the names of all modules that belong to a room."""
    return sorted(set(module_files()) - {*FACADE})


@functools.cache
def imports(name: str) -> frozenset[str]:
    """Return the modules that a module imports, also inside functions, but not under ``TYPE_CHECKING``."""
    tree = ast.parse(module_files()[name].read_text(encoding="utf-8"))
    found = {_module(each) for node in _executed(tree) for each in _imported(node)}
    return frozenset(each for each in found if each and each not in (name, "morph"))


def room_of(module: str) -> str:
    """Return the name of the room that a module lies in."""
    return module.split(".")[1]


@functools.cache
def rooms() -> Mapping[str, Room]:
    """Return all rooms by their names."""
    found = {}
    for name in sorted({room_of(module) for module in modules()}):
        inside = [module for module in modules() if room_of(module) == name]
        file = module_files()[f"morph.{name}"]
        path = file.parent if file.name == "__init__.py" else file
        used = {room_of(each) for module in inside for each in imports(module) if each not in FACADE}
        found[name] = Room(name, str(path.relative_to(ROOT)), summary(file), frozenset(used - {name}))
    return found


def layers() -> list[list[str]]:
    """Return the rooms in layers, the highest first: each imports only rooms of lower layers.

    Raises:
        graphlib.CycleError: If rooms import each other.
    """
    height: dict[str, int] = {}
    for name in graphlib.TopologicalSorter(
        {name: room.imports for name, room in rooms().items()}
    ).static_order():
        height[name] = 1 + max((height[each] for each in rooms()[name].imports), default=-1)
    return [
        sorted(name for name in height if height[name] == level)
        for level in range(max(height.values()), -1, -1)
    ]


def direct() -> Iterator[tuple[str, str]]:
    """Yield each pair of rooms of which the first imports the second, but not by way of a third."""
    reached = {name: set[str]() for name in rooms()}
    for layer in reversed(layers()):
        for name in layer:
            below = rooms()[name].imports
            reached[name] = set(below).union(*(reached[each] for each in below))
    for name, room in rooms().items():
        yield from ((name, each) for each in sorted(room.imports) if not _is_by_way(each, room, reached))


def summary(file: pathlib.Path) -> str:
    """Return the first sentence of a module's docstring, on one line."""
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split())


def _is_by_way(name: str, room: Room, reached: Mapping[str, Iterable[str]]) -> bool:
    return any(name in reached[other] for other in room.imports - {name})


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            yield from _executed(child)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{each.name}" for each in node.names]
    return []


def _module(name: str) -> str:
    while name and name not in module_files():
        name = name.rpartition(".")[0]
    return name

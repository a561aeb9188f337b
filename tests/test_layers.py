"""The package's rooms (subpackages) import each other only as the README's picture shows, without cycles."""

import ast
import graphlib
import pathlib
import re
from collections.abc import Iterator

import pytest

from tests.platforms import REPOSITORY

PLACES = {"morph": "morph", "morph.aliases": "aliases", "morph.finders": "finders"}
APART = {
    REPOSITORY / "aliases" / "packages",
    REPOSITORY / "morph" / "running" / "startup" / "site",
}  # under other names
FACADE = "morph", "morph.__main__"  # import any room when called


def module_files() -> dict[str, pathlib.Path]:
    found = {}
    for package, place in PLACES.items():
        for path in (REPOSITORY / place).rglob("*.py"):
            if not APART.intersection(path.parents):
                inside = path.relative_to(REPOSITORY / place).with_suffix("").parts
                found[".".join([package, *inside]).removesuffix(".__init__")] = path
    return found


FILES = module_files()


def imports(name: str) -> set[str]:
    """Return the modules that a module imports, also inside functions, but not under `TYPE_CHECKING`."""
    tree = ast.parse(FILES[name].read_text())
    found = {_module(each) for node in _executed(tree) for each in _imported(node)}
    return {each for each in found if each in FILES and each != name and each != "morph"}


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
    while name and name not in FILES:
        name = name.rpartition(".")[0]
    return name


def room(name: str) -> str:
    return name.split(".")[1]


def picture() -> list[list[str]]:
    text = (REPOSITORY / "README.md").read_text()
    (lines,) = re.findall(r"^## How it works\n.*?^```\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [re.split(r" {2,}", line)[0].split() for line in lines.splitlines()]


MODULES = sorted(set(FILES) - {*FACADE})


def test_every_room_is_in_the_picture_once():
    assert sorted(sum(picture(), [])) == sorted({room(name) for name in MODULES})


@pytest.mark.parametrize("name", sorted({room(name) for name in MODULES}))
def test_no_room_imports_one_above_it(name):
    height = {each: number for number, line in enumerate(picture()) for each in line}
    edges = [(a, b) for a in MODULES if room(a) == name for b in imports(a)]
    assert [(a, b) for a, b in edges if height[room(b)] < height[name]] == []


def test_no_modules_import_each_other():
    graph = graphlib.TopologicalSorter({name: imports(name) for name in MODULES})
    graph.prepare()  # raises CycleError, which names the modules


def test_what_is_found_are_imports():
    assert "morph.activation.installation" in imports("morph.activation")
    assert {"morph.aliases.sensors.cpu", "morph.finders.torch_cuda.serving"} <= {*FILES}


KERNELS = "morph.kernels."


def test_kernels_are_reached_through_their_doors():
    """Nothing outside of a room of kernels imports a module inside it."""
    pairs = [(name, each) for name in MODULES for each in imports(name) if each.startswith(KERNELS)]
    rooms = {each: f"{KERNELS}{each.split('.')[2]}" for _, each in pairs}
    assert [(a, b) for a, b in pairs if b != rooms[b] and not f"{a}.".startswith(f"{rooms[b]}.")] == []
    assert len(pairs) > 50

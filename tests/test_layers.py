"""The package's rooms (subpackages) import each other in one direction only, as the docs' picture shows."""

import graphlib

from docs.generate import rooms

KERNELS = "morph.kernels."


def test_no_rooms_import_each_other():
    assert len(rooms.layers()) > 2  # raises CycleError, which names the rooms


def test_no_modules_import_each_other():
    graph = graphlib.TopologicalSorter({name: rooms.imports(name) for name in rooms.modules()})
    assert {*rooms.modules()} <= {*graph.static_order()}, "or CycleError, which names the modules"


def test_what_is_found_are_imports():
    assert "morph.activation.installation" in rooms.imports("morph.activation.process")
    assert {"morph.aliases.sensors.cpu", "morph.finders.torch_cuda.serving"} <= {*rooms.modules()}


def test_kernels_are_reached_through_their_doors():
    """Nothing outside of a room of kernels imports a module inside it."""
    imports = ((name, each) for name in rooms.modules() for each in rooms.imports(name))
    pairs = [(name, each) for name, each in imports if each.startswith(KERNELS)]
    doors = {each: f"{KERNELS}{each.split('.')[2]}" for _, each in pairs}
    assert [(a, b) for a, b in pairs if b != doors[b] and not f"{a}.".startswith(f"{doors[b]}.")] == []
    assert len(pairs) > 50

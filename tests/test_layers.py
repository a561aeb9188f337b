"""The package's rooms (subpackages) import each other in one direction only, as the docs' picture shows."""

import graphlib

from docs.generate import rooms


def test_no_rooms_import_each_other():
    assert len(rooms.layers()) > 2  # raises CycleError, which names the rooms


def test_no_modules_import_each_other():
    graph = graphlib.TopologicalSorter({name: rooms.imports(name) for name in rooms.modules()})
    graph.prepare()  # raises CycleError, which names the modules


def test_what_is_found_are_imports():
    assert "morph.activation.installation" in rooms.imports("morph.activation")
    assert {"morph.aliases.sensors.cpu", "morph.finders.torch_cuda.serving"} <= {*rooms.modules()}

"""Callables with exactly the recorded parameters: a call that the vendor rejects raises TypeError."""

import enum
from types import SimpleNamespace
from typing import Any

from morph.backends.tables import surfaces
from morph.backends.tables.surfaces import Surface
from tests.aliases import signatures

VENDORS = {"mlu": surfaces.load("torch_mlu-1.33.1"), "musa": surfaces.load("torch_musa-2.11.0.post2")}

FEW_PROPERTIES = {"mlu": VENDORS["mlu"], "musa": surfaces.load("torch_musa-2.9.1.post1")}
"""Releases whose devices report few properties."""


class Recorded:
    """A vendor's function that records its calls.

    Attributes:
        calls: The arguments of each call by name, with the vendor's defaults.
    """

    def __init__(self, name: str, result: Any = None) -> None:
        surface = next(each for each in VENDORS.values() if each.has(name))
        self._signature = signatures.parse(surface.signature(name) or "()")
        self._result = result
        self.calls: list[dict[str, Any]] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        self.calls.append(dict(bound.arguments))
        return self._result


def bindings(module: str, **results: Any) -> SimpleNamespace:
    """Returns the recorded functions of a module, which return `results`."""
    surface = next(each for each in VENDORS.values() if each.has(module))
    names = [name for name in surface.functions if name.rpartition(".")[0] == module]
    last = {name: name.rpartition(".")[2] for name in names}
    return SimpleNamespace(**{last[name]: Recorded(name, results.get(last[name])) for name in names})


def runtime(module: str, codes: str, **results: Any) -> SimpleNamespace:
    """Returns the recorded functions of a runtime with the class of its status codes."""
    recorded = bindings(module, **results)
    setattr(recorded, codes, enum.IntEnum(codes, {"success": 0}))
    return recorded


def properties(backend: str, surface: Surface | None = None) -> SimpleNamespace:
    """Returns an object with the recorded fields of a device's properties; each one's value is its name."""
    classes = (surface or FEW_PROPERTIES[backend]).classes
    fields = next(each.members for name, each in classes.items() if name.endswith("DeviceProperties"))
    return SimpleNamespace(**{field: field for field in fields})

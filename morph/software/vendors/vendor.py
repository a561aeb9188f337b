"""The vendor's module, made from its recorded surface; names that are not simulated raise when used."""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from types import ModuleType
from typing import Any

from morph.backends.tables import surfaces
from morph.backends.tables.surfaces import Surface
from morph.software import devices, generators, graphs, histories, legacy, memory, pools, streams
from morph.software.machine import Machine
from morph.software.vendors import amp
from morph.software.vendors.quirks import OF_VENDORS
from morph.software.vendors.stand_ins import fitted, stand_in

SUBJECTS: tuple[Any, ...] = (devices, memory, histories, pools, generators, streams, graphs, amp, legacy)


def build(machine: Machine) -> dict[str, ModuleType]:
    """Make the vendor's module, its submodules and those beside it, with exactly the recorded names.

    Args:
        machine: The simulated machine that they are for.

    Returns:
        The modules by their recorded names; nothing is registered yet.
    """
    surface, quirks = surfaces.load_nearest(machine.facts.surface), machine.quirks
    modules = {name: _module(_own_name(name, quirks.homes), surface) for name in sorted(surface.modules)}
    contents = dict(_contents(surface, implementations(machine)))
    late = {name: contents.pop(name) for name in quirks.late}
    for name, value in contents.items():
        _bind(name, value, modules)
    modules |= {name: wrap(modules[name], modules[name].__name__) for name, wrap in quirks.flags.items()}
    for name, module in modules.items():
        if name.rpartition(".")[0] in modules:
            _bind(name, module, modules)
    machine.native.when_initialized(partial(_bind_late, machine.facts.module, late, modules))
    return modules


def register(modules: Mapping[str, ModuleType], machine: Machine) -> None:
    """Register the modules under the vendor's names, and make the vendor's package, marked as simulated."""
    facts, surface = machine.facts, surfaces.load_nearest(machine.facts.surface)
    sys.modules.update({module.__name__: module for module in modules.values()})
    if facts.vendor not in sys.modules:
        sys.modules[facts.vendor] = _module(facts.vendor, surface)
        setattr(sys.modules[facts.vendor], facts.module.rpartition(".")[2], modules[facts.module])
    if modules[facts.module].__name__ != facts.module:  # whose C++ imports it under its recorded name only
        machine.native.expect_no_call_of_torchs()
    for name, module in modules.items():
        if name.rpartition(".")[0] not in modules:
            place(name, module, surface)
    for name, value in machine.quirks.package.items():
        place(name, value, surface)


def place(name: str, value: Any, surface: Surface) -> None:
    """Bind a value to a dotted name in torch or the vendor's package, making modules as needed."""
    root, *path, last = name.split(".")
    owner = sys.modules[root]
    for part in path:
        if not hasattr(owner, part):
            inner = _module(f"{owner.__name__}.{part}", surface)
            setattr(owner, part, inner)
            sys.modules[inner.__name__] = inner
        owner = getattr(owner, part)
    setattr(owner, last, value)


def _bind(name: str, value: Any, modules: Mapping[str, ModuleType]) -> None:
    owner, _, last = name.rpartition(".")
    setattr(modules[owner], last, value)


def _bind_late(module: str, late: Mapping[str, Any], modules: Mapping[str, ModuleType]) -> None:
    for name, value in {f"{module}._initialized": True, **late}.items():
        _bind(name, value, modules)


def _own_name(name: str, homes: Mapping[str, str]) -> str:
    for recorded, own in homes.items():
        if f"{name}.".startswith(f"{recorded}."):
            return own + name.removeprefix(recorded)
    return name


def implementations(machine: Machine) -> dict[str, Any]:
    """Return every simulated object by bare or dotted name; the surface decides which the vendor has."""
    answers: dict[str, Any] = {}
    for part in (*SUBJECTS, *machine.quirks.parts, *_own_part(machine)):
        answers |= _defined(part) | getattr(part, "values", _nothing)(machine)
    return answers | dict(machine.quirks.names)


def _own_part(machine: Machine) -> Iterator[ModuleType]:
    if machine.facts.name in OF_VENDORS:
        yield importlib.import_module(OF_VENDORS[machine.facts.name].partition(":")[0])


def _nothing(machine: Machine) -> dict[str, Any]:
    return {}


def _defined(module: ModuleType) -> dict[str, Any]:
    mine = module.__name__
    return {name: each for name, each in vars(module).items() if getattr(each, "__module__", "") == mine}


def _module(name: str, surface: Surface) -> ModuleType:
    module = ModuleType(name, f"{name} of {surface.package} {surface.version}, simulated.")
    module.__version__ = f"{surface.version}+simulated"  # type: ignore[attr-defined]
    module.__spec__ = importlib.machinery.ModuleSpec(name, None, origin="simulated")
    module.__path__ = []
    return module


def _contents(surface: Surface, answers: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    absent: dict[str, Any] = {}
    for name in sorted(surface.names - surface.modules):
        bare = name.rpartition(".")[2]
        if name in answers or bare in answers:
            yield name, fitted(answers.get(name, answers.get(bare)), name, surface)
        else:
            home = surface.classes[name].home if name in surface.classes else name
            yield name, absent.setdefault(home, stand_in(home, surface))

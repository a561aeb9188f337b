"""Which names of the served packages the tests use on each platform: those whose code runs in a scenario.

`scenarios/` has a short program for each package. A function counts as used if its code ran there, a class if
its code or an instance of it did, and a value if the program says so; other values and modules are seen to
exist. Names that no program reaches are only checked against the recorded names, by the packages' own tests.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import pathlib
import sys
import warnings
from types import FrameType, ModuleType
from typing import Any

from morph.backends import active
from morph.backends.tables import interfaces, package, table
from morph.backends.tables.decisions import ROOT
from morph.backends.tables.interfaces import Interface
from morph.backends.tables.table import Status
from morph.evidence.coverage.evidence import Seen
from morph.finders.packages import folders

TREES = str(pathlib.Path(folders.PACKAGES))
PACKAGES = [name for name in interfaces.names() if name != ROOT]


class Run:
    """What ran: the code of morph's trees, and the classes that had instances.

    A context manager that profiles this thread.
    """

    def __init__(self) -> None:
        self.codes: set[Any] = set()
        self.classes: set[type] = set()

    def __enter__(self) -> Run:
        sys.setprofile(self._see)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)

    def _see(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(TREES):
            self.codes.add(code)
            if code.co_varnames[:1] == ("self",):
                self.classes.add(type(frame.f_locals["self"]))


def run(name: str, results: pathlib.Path) -> None:
    """Runs the scenario of a package in a process under morph, and writes each name's outcome.

    Args:
        name: The package.
        results: The file to write, which has what was seen of each name that was tried, or its error.
    """
    interface, backend = interfaces.load(name), active()
    assert backend is not None
    scenario = importlib.import_module(f"tests.evidence.scenarios.{name}")
    with warnings.catch_warnings(), Run() as seen:
        warnings.simplefilter("ignore")
        said = set(scenario.run())
    outcomes = {}
    for each in interface.names:
        missing = interface.decide(table.load(backend.name), each).status is Status.MISSING
        outcome = _refused(each, said) if missing else _used(each, seen, said)
        if outcome is not None:
            outcomes[each] = outcome
    results.write_text(json.dumps(outcomes))


def _used(name: str, seen: Run, said: set[str]) -> str | None:
    """Returns what was seen of a name, None of a function that did not run, or why it does not exist."""
    try:
        found = _resolved(name)
    except (ImportError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"
    if name in said or _ran(found, seen):
        return Seen.USED.value
    return None if _is_ours(_function(found)) else Seen.EXISTING.value


def _refused(name: str, said: set[str]) -> str | None:
    """Returns that a name is refused: it does not exist, or the scenario says so; or else that it exists."""
    try:
        _resolved(name)
    except (ImportError, AttributeError):
        return Seen.REFUSED.value
    return Seen.REFUSED.value if name in said else f"{name} is called missing, and exists"


@functools.cache
def _resolved(name: str) -> Any:
    """Returns the object of a dotted name, hidden from a rehearsal, which would print thousands of names."""
    owner, _, last = name.rpartition(".")
    if name in sys.modules or not owner:
        return importlib.import_module(name)
    found = _resolved(owner)
    read = ModuleType.__getattribute__ if isinstance(found, ModuleType) else getattr
    try:
        return read(found, last)
    except AttributeError:
        if name not in _modules(interfaces.of(name)):
            raise
        return importlib.import_module(name)


@functools.cache
def _modules(interface: Interface) -> frozenset[str]:
    """Returns the modules of a package, including those recorded only through their names."""
    return interface.modules | {name.rpartition(".")[0] for name in interface.names}


def _ran(found: Any, seen: Run) -> bool:
    found = _function(found)
    if not _is_ours(found):
        return False
    if isinstance(found, type):
        own = (getattr(each, "__func__", each) for each in vars(found).values())
        return found in seen.classes or any(getattr(each, "__code__", None) in seen.codes for each in own)
    return getattr(found, "__code__", None) in seen.codes


def _function(found: Any) -> Any:
    """Returns the class or function whose code runs when an object is called, or the object itself."""
    found = inspect.unwrap(getattr(found, "_init_fn", found))
    owner = getattr(found, "__self__", None)
    return _function(owner) if isinstance(owner, type) else found  # the apply of an autograd function


def _is_ours(found: Any) -> bool:
    """Returns whether an object is a class or function of a tree, not a value or one of torch's."""
    if isinstance(found, ModuleType) or not callable(found):
        return False
    root = str(getattr(found, "__module__", "")).partition(".")[0]
    return root in {top for name in PACKAGES for top in package.load(name).import_names}

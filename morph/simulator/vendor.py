"""The vendor's module made from its recorded surface: what is not simulated says so when it is used."""

from __future__ import annotations

import ast
import importlib
import importlib.machinery
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from morph import surfaces
from morph.simulator import amp, devices, generators, legacy, memory, streams
from morph.simulator.machine import CHARACTERS, Machine, NotSimulatedError
from morph.surfaces import Surface

SUBJECTS: tuple[Any, ...] = (devices, memory, generators, streams, amp, legacy)


def build(machine: Machine) -> ModuleType:
    """Makes the vendor's module and its submodules, with exactly the names of the recorded surface.

    Args:
        machine: The simulated machine that it is for.

    Returns:
        The module; nothing is registered yet.
    """
    surface = surfaces.load(machine.facts.surface)
    answers = implementations(machine)
    modules = {name: _module(name, surface) for name in sorted(surface.modules)}
    for name, value in _contents(surface, answers):
        owner, _, last = name.rpartition(".")
        setattr(modules[owner], last, value)
    for name, module in modules.items():
        owner, _, last = name.rpartition(".")
        if owner in modules:
            setattr(modules[owner], last, module)
    return modules[surface.module]


def register(module: ModuleType, machine: Machine) -> None:
    """Makes the modules importable, and the vendor's package too: a stand-in that says what it is."""
    for each in _below(module):
        sys.modules[each.__name__] = each
    surface = surfaces.load(machine.facts.surface)
    package = _module(machine.facts.vendor, surface)
    sys.modules[package.__name__] = package
    setattr(package, machine.facts.module.rpartition(".")[2], module)
    for name, value in machine.character.package.items():
        owner, _, last = name.rpartition(".")
        setattr(_nested(package, owner.split("."), surface), last, value)


def _nested(package: ModuleType, path: list[str], surface: Surface) -> ModuleType:
    for part in path:
        if not hasattr(package, part):
            inner = _module(f"{package.__name__}.{part}", surface)
            setattr(package, part, inner)
            sys.modules[inner.__name__] = inner
        package = getattr(package, part)
    return package


def implementations(machine: Machine) -> dict[str, Any]:
    """Gives all that is simulated, by bare name; the surface decides which of it the vendor has."""
    answers: dict[str, Any] = {}
    for subject in SUBJECTS:
        answers |= _defined(subject) | getattr(subject, "values", _nothing)(machine)
    if machine.facts.name in CHARACTERS:
        answers |= _defined(importlib.import_module(CHARACTERS[machine.facts.name]))
    return answers | dict(machine.character.names)


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


def _below(module: ModuleType) -> Iterator[ModuleType]:
    yield module
    for name, value in vars(module).items():
        if isinstance(value, ModuleType) and value.__name__ == f"{module.__name__}.{name}":
            yield from _below(value)


def _contents(surface: Surface, answers: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    absent: dict[str, Any] = {}
    for name in sorted(surface.names - surface.modules):
        bare = name.rpartition(".")[2]
        if bare in answers:
            _complete(answers[bare], name, surface)
            yield name, answers[bare]
        else:
            home = surface.classes[name].home if name in surface.classes else name
            yield name, absent.setdefault(home, _stand_in(home, surface))


def _stand_in(name: str, surface: Surface) -> Any:
    if name in surface.functions:
        return _refusing_function(name, surface.signature(name))
    if name in surface.classes:
        return _refusing_class(name, surface)
    return RefusingValue(name)


def _refusing_function(name: str, signature: str | None) -> Callable[..., Any]:
    def refuse(*arguments: Any, **options: Any) -> Any:
        raise NotSimulatedError(name)

    refuse.__module__, _, refuse.__name__ = name.rpartition(".")
    refuse.__qualname__ = refuse.__name__
    refuse.__doc__ = "Not simulated."
    if signature is not None:
        refuse.__signature__ = parse_signature(signature)  # type: ignore[attr-defined]
    return refuse


def _refusing_class(name: str, surface: Surface) -> type:
    def refuse(cls: type, *arguments: Any, **options: Any) -> Any:
        raise NotSimulatedError(name)

    module, _, last = name.rpartition(".")
    body: dict[str, Any] = {"__new__": refuse, "__module__": module, "__doc__": "Not simulated."}
    if signature := surface.signature(name):
        body["__signature__"] = parse_signature(signature)
    made = type(last, (), body)
    _complete(made, name, surface)
    return made


def _complete(made: Any, name: str, surface: Surface) -> None:
    """Adds the members that the vendor's class has and ours lacks; each refuses."""
    if not isinstance(made, type) or name not in surface.classes:
        return
    for member, kind in surface.classes[name].members.items():
        full = f"{name}.{member}"
        if hasattr(made, member):
            continue
        if kind in ("property", "attribute"):
            setattr(made, member, property(_refusing_function(full, None)))
        else:
            setattr(made, member, _refusing_function(full, surface.signature(full)))


class RefusingValue:
    """A value that the vendor has and the simulated device has not: refuses every use."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what inspect, copy and pickle ask of anything
            raise AttributeError(name)
        raise NotSimulatedError(f"{self._name}.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise NotSimulatedError(f"{self._name}.{name}")

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Always refused."""
        raise NotSimulatedError(self._name)


class _Source:
    """A default as its source text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def parse_signature(text: str) -> inspect.Signature:
    """Reads a recorded signature; defaults that are not literals stay source text.

    >>> str(parse_signature("(size, *, device=None, dtype=torch.float16)"))
    '(size, *, device=None, dtype=torch.float16)'
    """
    function = ast.parse(f"def f{text}: ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    return inspect.Signature(list(_parameters(function.args)))


def _parameters(arguments: ast.arguments) -> Iterator[inspect.Parameter]:
    kinds = inspect.Parameter
    positional = [*arguments.posonlyargs, *arguments.args]
    gap: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    for each, default in zip(positional, [*gap, *arguments.defaults], strict=True):
        only = each in arguments.posonlyargs
        kind = kinds.POSITIONAL_ONLY if only else kinds.POSITIONAL_OR_KEYWORD
        yield kinds(each.arg, kind, default=_default(default))
    if arguments.vararg:
        yield kinds(arguments.vararg.arg, kinds.VAR_POSITIONAL)
    for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield kinds(each.arg, kinds.KEYWORD_ONLY, default=_default(default))
    if arguments.kwarg:
        yield kinds(arguments.kwarg.arg, kinds.VAR_KEYWORD)


def _default(expression: ast.expr | None) -> Any:
    if expression is None:
        return inspect.Parameter.empty
    try:
        return ast.literal_eval(expression)
    except ValueError:
        return _Source(ast.unparse(expression))

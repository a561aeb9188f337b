"""The objects that a process's modules hold, to compare by identity before and after an activation."""

from __future__ import annotations

import collections
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

LEAVES = (str, bytes, int, float, complex, bool, types.NoneType, types.CodeType, types.BuiltinFunctionType)
ABSENT = "absent"


class Graph:
    """Every object reachable from the modules in ``sys.modules``, with the objects that it holds.

    The graph covers modules, classes, functions with their cells and defaults, containers, and instances that
    have a ``__dict__``. It keeps all of them alive, so that no `id` is reused.

    Args:
        passed_over: Top-level modules that are skipped wherever they occur.
    """

    def __init__(self, *passed_over: str) -> None:
        self._passed_over = {__name__.partition(".")[0], "__main__", "__mp_main__", *passed_over}
        self._held: dict[int, dict[str, object]] = {}
        self._reached_by: dict[int, tuple[int, str]] = {}
        self.objects: dict[int, object] = {}
        modules = {name: module for name, module in list(sys.modules.items()) if module is not None}
        for name, module in modules.items():
            self._reached_by.setdefault(id(module), (0, name))
        self._walk(module for name, module in modules.items() if not self._is_passed_over(name))

    def _walk(self, starts: Iterable[object]) -> None:
        waiting = collections.deque(starts)
        while waiting:
            owner = waiting.popleft()
            if id(owner) in self.objects or self._is_passed_over(_module_name(owner)):
                continue
            self.objects[id(owner)] = owner
            held = self._held[id(owner)] = dict(_parts(owner))
            for part, value in held.items():
                if not issubclass(type(value), LEAVES) and value is not sys.modules:
                    self._reached_by.setdefault(id(value), (id(owner), part))
                    waiting.append(value)

    def _is_passed_over(self, module: str) -> bool:
        return module.partition(".")[0] in self._passed_over

    def path(self, owner: int) -> str:
        """Return the path from a module on which an object was reached."""
        parts = []
        while owner:
            owner, part = self._reached_by[owner]
            parts.append(part)
        return " ".join(reversed(parts))

    def changes(self, after: Graph) -> Iterator[str]:
        """Yield the path of each part of an earlier object that is a different object in ``after``."""
        for owner, before in self._held.items():
            now = after._held.get(owner, before)
            for part in {**before, **now}:
                old, new = before.get(part, ABSENT), now.get(part, ABSENT)
                if old is not new and not (_is_value(old) and type(old) is type(new) and old == new):
                    yield f"{self.path(owner)} {part}"


def _module_name(owner: object) -> str:
    if not issubclass(type(owner), types.ModuleType):
        return ""
    return str(vars(owner).get("__name__", ""))


def _is_value(thing: object) -> bool:
    return isinstance(thing, str | bytes | int | float | complex | tuple)


def _parts(owner: Any) -> Iterator[tuple[str, object]]:
    """Yield what ``owner`` holds, by name; a proxy's own class counts, not that of its target."""
    kind = type(owner)
    if issubclass(kind, types.ModuleType):
        yield from list(vars(owner).items())
    elif issubclass(kind, type):
        yield from list(type.__dict__["__dict__"].__get__(owner).items())
        yield "__bases__", owner.__bases__
    elif kind is types.FunctionType:
        yield from _parts_of_function(owner)
    elif kind in (staticmethod, classmethod, types.MethodType):
        yield "__func__", owner.__func__
    elif kind is property:
        yield from (("fget", owner.fget), ("fset", owner.fset), ("fdel", owner.fdel))
    else:
        yield from _parts_of_container(owner, kind)


def _parts_of_function(function: types.FunctionType) -> Iterator[tuple[str, object]]:
    yield from (("__code__", function.__code__), ("__defaults__", function.__defaults__))
    yield from (("__kwdefaults__", function.__kwdefaults__), *vars(function).items())
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not set yet
            pass


def _parts_of_container(owner: Any, kind: type) -> Iterator[tuple[str, object]]:
    if issubclass(kind, (dict, types.MappingProxyType)):
        yield from ((_key(key), value) for key, value in list(owner.items()))
    elif issubclass(kind, (list, tuple, collections.deque)):
        yield from ((f"[{index}]", value) for index, value in enumerate(list(owner)))
    elif issubclass(kind, (set, frozenset)):
        yield from ((_key(value), value) for value in list(owner))
    else:
        attributes = _attributes(owner)
        yield from list(attributes.items())


def _key(key: object) -> str:
    return f"[{key!r}]" if isinstance(key, str | int | tuple) else f"[a {type(key).__name__}, {id(key)}]"


def _attributes(owner: object) -> Mapping[str, object]:
    try:
        found = object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, dict) else {}

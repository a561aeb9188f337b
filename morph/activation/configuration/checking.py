"""Checks the keys and values of a configuration file. No value is imported."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from morph.base.errors import ConfigurationError
from morph.finders.packages import folders

Key = tuple[str, ...]
Place = Callable[[Key], str]

VIEWS = ("cuda", "vendor")


def check(document: Any, place: Place) -> None:
    """Check the keys and values of a configuration file.

    Args:
        document: The part of the file about morph.
        place: Returns the file and line of a key.

    Raises:
        ConfigurationError: For the first key that is unknown or whose value is of a wrong kind.
    """
    _keys(document, (), place, _KEYS)
    _check_tables_are_opted_in(document, place)


def _check_tables_are_opted_in(document: Any, place: Place) -> None:
    packages = document.get("packages")
    for name in document.get("package", {}):
        if packages is not None and name not in packages:
            _fail(("package", name), f"{name} is not listed in packages, so this has no effect", place)


def _keys(value: Any, key: Key, place: Place, known: dict[str, Checker]) -> None:
    for each, inside in _table(value, key, place).items():
        if each not in known:
            _fail((*key, each), f"unknown key; the keys are {', '.join(known)}", place)
        known[each](inside, (*key, each), place)


def _text(value: Any, key: Key, place: Place) -> None:
    if not isinstance(value, str) or not value:
        _fail(key, f"{value!r} should be the name of a backend, a string", place)


def _view(value: Any, key: Key, place: Place) -> None:
    if value not in VIEWS:
        _fail(key, f"{value!r} should be one of {_listed(VIEWS)}", place)


def _packages(value: Any, key: Key, place: Place) -> None:
    for name in _names(value, key, place):
        _check_package(name, key, place)


def _served(value: Any, key: Key, place: Place) -> None:
    served = sorted(filter(folders.has_tree, folders.names()))
    for name in _names(value, key, place):
        if name not in served:
            _fail(key, f"{name!r} should be one of {_listed(served)}", place)


def _tables(value: Any, key: Key, place: Place) -> None:
    for name, table in _table(value, key, place).items():
        _check_package(name, (*key, name), place)
        _keys(table, (*key, name), place, _PACKAGE_KEYS)


def _of_check(value: Any, key: Key, place: Place) -> None:
    _keys(value, key, place, _CHECK_KEYS)


def _texts(value: Any, key: Key, place: Place) -> None:
    if any(not text for text in _names(value, key, place)):
        _fail(key, "an empty text means nothing", place)


Checker = Callable[[Any, Key, Place], None]
_KEYS: dict[str, Checker] = {
    "backend": _text,
    "packages": _packages,
    "package": _tables,
    "check": _of_check,
}
_CHECK_KEYS: dict[str, Checker] = {"paths": _texts, "exclude": _texts, "backends": _texts, "ignore": _texts}
_PACKAGE_KEYS: dict[str, Checker] = {"view": _view, "served": _served}


def _check_package(name: str, key: Key, place: Place) -> None:
    if not name.isidentifier():
        _fail(key, f"{name!r} should be the name of a top-level package, as it is imported", place)


def _table(value: Any, key: Key, place: Place) -> dict[str, Any]:
    if not isinstance(value, dict):
        _fail(key, f"{value!r} should be a table", place)
    return dict(value)


def _names(value: Any, key: Key, place: Place) -> Iterable[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        _fail(key, f"{value!r} should be a list of names", place)
    return list(value)


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


def _fail(key: Key, problem: str, place: Place) -> NoReturn:
    raise ConfigurationError(place(key), ".".join(key) or "tool.morph", problem)

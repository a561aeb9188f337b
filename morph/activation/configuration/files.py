"""The configuration files: their places and contents."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from morph import has_other_rights
from morph.activation.configuration.checking import check
from morph.activation.configuration.lines import line_of, line_of_syntax_error
from morph.base import toml
from morph.base.errors import ConfigurationError

NAME = "morph.toml"
PROJECT = "pyproject.toml"


class Source(NamedTuple):
    """The settings from one file, or from the environment variables.

    Attributes:
        places: The place of each key: ``"/home/me/morph.toml:3"``.
        backend: The backend's name; None if not set.
        packages: The top-level packages that see CUDA; None if not set.
        tables: The settings for single packages.
        check: The settings of ``morph check``.
    """

    places: Mapping[str, str]
    backend: str | None = None
    packages: tuple[str, ...] | None = None
    tables: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    check: Mapping[str, Any] = MappingProxyType({})


def of_project(start: pathlib.Path) -> Source | None:
    """Return the settings from the first file found from the folder ``start`` upwards.

    It is a ``morph.toml``, or a ``pyproject.toml`` with a table ``tool.morph``.

    Raises:
        ConfigurationError: If a key is unknown, or a value is of a wrong kind.
    """
    for folder in (start, *start.parents):
        for name in (NAME, PROJECT):
            found = read(folder / name)
            if found is not None:
                return found
    return None


def of_environment() -> Source | None:
    """Return the settings from ``morph.toml`` in the interpreter's site-packages.

    Raises:
        ConfigurationError: If a key is unknown, or a value is of a wrong kind.
    """
    return next(filter(None, (read(folder / NAME) for folder in site_folders())), None)


def of_user() -> Source | None:
    """Return the settings from the user's ``morph.toml``, unless the interpreter ignores the user's files.

    Raises:
        ConfigurationError: If a key is unknown, or a value is of a wrong kind.
    """
    return None if sys.flags.no_user_site or has_other_rights() else read(user_file())


def user_file() -> pathlib.Path:
    """Return the path of the user's file."""
    import platformdirs

    return platformdirs.user_config_path("morph") / NAME


def site_folders() -> Iterator[pathlib.Path]:
    """Yield the folders whose start-up files the interpreter reads."""
    if sys.flags.no_site:
        return
    import site

    yield from map(pathlib.Path, site.getsitepackages())
    if site.ENABLE_USER_SITE:
        yield pathlib.Path(site.getusersitepackages())


def read(path: pathlib.Path) -> Source | None:
    """Return the settings from the file at ``path``, or None if it is missing or has no part about morph.

    Raises:
        ConfigurationError: If a key is unknown, or a value is of a wrong kind.
    """
    if not os.path.isfile(path):
        return None
    text = _text(path)
    try:
        document: Any = toml.loads(text)
        if toml.is_deep(document):
            raise toml.TOMLDecodeError(toml.TOO_DEEP)
    except toml.TOMLDecodeError as error:
        if path.name == PROJECT and "[tool.morph" not in text:  # other tools will report the error
            return None
        raise ConfigurationError(
            f"{path}:{line_of_syntax_error(error, text)}", "not TOML", str(error)
        ) from None
    above = ("tool", "morph") if path.name == PROJECT else ()
    for key in above:
        document = document.get(key, {}) if isinstance(document, dict) else {}
    if above and not document:
        return None
    return _source(document, path, text.splitlines(), above)


def _text(path: pathlib.Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}:1", "cannot be read", str(error)) from None


def _source(document: Any, path: pathlib.Path, lines: list[str], above: tuple[str, ...]) -> Source:
    def place(key: tuple[str, ...]) -> str:
        return f"{path}:{line_of(lines, (*above, *key))}"

    check(document, place)
    tables, checks = document.get("package", {}), document.get("check", {})
    keys: list[tuple[str, ...]] = [(key,) for key in document if key not in ("package", "check")]
    keys += [("package", name, key) for name in tables for key in tables[name]]
    keys += [("check", key) for key in checks]
    packages = document.get("packages")
    return Source(
        {".".join(key): place(key) for key in keys},
        document.get("backend"),
        None if packages is None else tuple(packages),
        tables,
        checks,
    )

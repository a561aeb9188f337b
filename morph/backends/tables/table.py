"""The alias tables by the name of their backend: morph's own, and those of installed distributions."""

from __future__ import annotations

import functools
import importlib.resources
from typing import TYPE_CHECKING, NamedTuple

from morph.backends.tables import plugins, surfaces
from morph.backends.tables.hints import hint
from morph.backends.tables.parsing import parse, parse_facts
from morph.backends.tables.plugins import Plugin
from morph.backends.tables.rows import Facts, Row, Status, Table
from morph.base.errors import MorphError, PluginError, UnknownBackendError

if TYPE_CHECKING:
    from importlib.abc import Traversable

__all__ = ["Facts", "Row", "Status", "Table", "backend_names", "facts", "load", "parse", "problems", "whole"]


def backend_names() -> list[str]:
    """Return the names of the backends that have a table, in the order of the automatic choice."""
    return sorted(_catalogue().tables, key=lambda name: (facts(name).order, name))


def problems() -> tuple[str, ...]:
    """Return one line for each backend of an installed distribution that cannot be used."""
    return _catalogue().problems


@functools.cache
def facts(name: str) -> Facts:
    """Read what the table of the backend ``name`` says of the backend itself, without its rows.

    Raises:
        UnknownBackendError: If there is no such table.
        TableError: If its section ``[backend]`` is malformed.
        PluginError: If it is from another distribution, and cannot be used.
    """
    own = _own()
    if name in own:
        return parse_facts(own[name].read_text(encoding="utf-8"), f"aliases/{name}.toml")
    return whole(name).facts


@functools.cache
def load(name: str) -> Table:
    """Read the table of the backend ``name``; morph's own come before those of other distributions.

    It is the table for the installed release of the vendor's package, or, without one, for the recorded
    surface that is nearest to the installed torch.

    Raises:
        UnknownBackendError: If there is no such table.
        TableError: If a row is malformed; the message names the file, the line and the row.
        PluginError: If it is from another distribution, and cannot be used.
    """
    return _of_the_installed_release(whole(name))


@functools.cache
def whole(name: str) -> Table:
    """Read the table of the backend ``name`` with the rows for all releases of the vendor's package.

    Raises:
        UnknownBackendError: If there is no such table.
        TableError: If a row is malformed.
        PluginError: If it is from another distribution, and cannot be used.
    """
    own = _own()
    if name in own:
        return parse(own[name].read_text(encoding="utf-8"), f"aliases/{name}.toml")
    if name in plugins.installed():
        return _from_outside(plugins.installed()[name])
    known = [facts(each) for each in backend_names()]
    raise UnknownBackendError(name, sorted({*own, *plugins.installed()}), hint(name, known))


def _of_the_installed_release(table: Table) -> Table:
    if not table.until and not table.since:
        return table
    installed = surfaces.installed(table.facts.distribution)
    return table.at(surfaces.numbers(installed or surfaces.nearest(table.facts.surface)))


class _Catalogue(NamedTuple):
    tables: tuple[str, ...]
    problems: tuple[str, ...]


@functools.cache
def _catalogue() -> _Catalogue:
    own, problems = _own(), []
    tables = [*own]
    for name, plugin in plugins.installed().items():
        try:
            if name in own:
                raise PluginError(name, plugin.distribution, "morph has a table of that name")
            whole(name)
        except MorphError as error:
            problems.append(str(error))
        else:
            tables.append(name)
    return _Catalogue(tuple(tables), tuple(problems))


def _from_outside(plugin: Plugin) -> Table:
    """Read a distribution's table, and check that it is complete before anything depends on it."""
    file = plugin.folder() / f"{plugin.name}.toml"
    if not file.is_file():
        raise plugin.broken(f"the package {plugin.package} has no {plugin.name}.toml")
    try:
        table = parse(file.read_text(encoding="utf-8"), f"{plugin.package}/{plugin.name}.toml")
        _check_name_and_surface(table, plugin.name)
    except MorphError as error:
        raise plugin.broken(str(error)) from None
    return table


def _check_name_and_surface(table: Table, name: str) -> None:
    if table.facts.name != name:
        raise MorphError(f"its table is called {table.facts.name!r}")
    if table.facts.surface:
        surfaces.load(table.facts.surface)


@functools.cache
def _own() -> dict[str, Traversable]:
    folder = importlib.resources.files("morph.aliases")
    tables = (entry for entry in folder.iterdir() if entry.name.endswith(".toml"))
    return {entry.name.removesuffix(".toml"): entry for entry in tables}

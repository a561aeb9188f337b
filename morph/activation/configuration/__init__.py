"""morph's settings and their sources; the most specific source counts.

From the most to the least specific: the command line, environment variables, the project's file, the
environment's file, the user's file, and the packages that declare themselves. No value names code.
"""

from __future__ import annotations

import functools
import importlib.metadata
import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from morph.activation.configuration import files
from morph.activation.configuration.files import Source
from morph.backends.tables import table
from morph.base import variables
from morph.base.errors import ConfigurationError, UnknownBackendError
from morph.finders.scope import LEFT_ALONE, OPTED_IN, Policy, Scope

GROUP = "morph.packages"
DEFAULT = "default"
_DEFAULTS = {"backend": "the first with an available device", "packages": "all code"}


class Setting(NamedTuple):
    """One effective value.

    Attributes:
        key: Its name in a file: ``"package.sam2.view"``.
        value: The value.
        place: The source: a file and line, a variable, a distribution, or ``"default"``.
    """

    key: str
    value: Any
    place: str

    @property
    def text(self) -> str:
        """The value, in words."""
        if self.place == DEFAULT:
            return _DEFAULTS[self.key]
        is_list = isinstance(self.value, list | tuple)
        return ", ".join(self.value) or "none" if is_list else str(self.value)


@dataclass(frozen=True, slots=True, eq=False)
class Settings:
    """The effective settings.

    Attributes:
        backend: The backend's name; None leaves the choice to morph.
        scope: Whose code sees CUDA.
        listed: Each value with its source.
        check: What a file says of ``morph check``, by its key: ``"exclude"``.
    """

    backend: str | None
    scope: Scope
    listed: tuple[Setting, ...] = ()
    check: Mapping[str, Setting] = field(default_factory=dict)


def effective(start: pathlib.Path | None = None) -> Settings:
    """Return the effective settings.

    Args:
        start: The folder from which to look upwards for a project's file; None looks for none.

    Raises:
        ConfigurationError: If a file or a variable has an invalid value.
    """
    key = [variables.read(name) for name in (variables.BACKEND, variables.PACKAGES, variables.SCOPE)]
    return _effective(start, *key)


@functools.cache
def _effective(
    start: pathlib.Path | None, backend: str | None, packages: str | None, scope: str | None
) -> Settings:
    project = files.of_project(start) if start else None
    candidates = [_of_variables(backend, packages), project, files.of_environment(), files.of_user()]
    sources = [source for source in candidates if source is not None]
    opted_in = list(_packages(sources))
    names = None if opted_in[0].value is None else [name for each in opted_in for name in each.value]
    tables = [each for each in _tables(sources) if names is None or each.key.split(".")[1] in names]
    asked = _backend(sources)
    _check_backends(asked, [asked.value])
    checks = _of_check(sources)
    if "backends" in checks:
        _check_backends(checks["backends"], checks["backends"].value)
    chosen = _handed_down(scope) if scope and not packages else _scope(names, tables)
    return Settings(asked.value, chosen, (asked, *opted_in, *tables, *checks.values()), checks)


def _of_variables(backend: str | None, packages: str | None) -> Source:
    names = packages.replace(",", " ").split() if packages else None
    for name in names or ():
        if not name.isidentifier():
            raise ConfigurationError(variables.PACKAGES, name, "should be the name of a top-level package")
    places = {"backend": variables.BACKEND, "packages": variables.PACKAGES}
    return Source(places, backend, None if names is None else tuple(names))


def _backend(sources: Sequence[Source]) -> Setting:
    said = next((source for source in sources if source.backend is not None), Source({}))
    return Setting("backend", said.backend, said.places.get("backend", DEFAULT))


def _check_backends(asked: Setting, names: Iterable[str | None]) -> None:
    try:
        for name in names:
            if name is not None:
                table.load(name)
    except UnknownBackendError as error:
        raise ConfigurationError(asked.place, asked.key, str(error)) from None


def _of_check(sources: Sequence[Source]) -> Mapping[str, Setting]:
    keys = dict.fromkeys(key for source in sources for key in source.check)
    said = {key: next(source for source in sources if key in source.check) for key in keys}
    return {
        key: Setting(f"check.{key}", tuple(source.check[key]), source.places[f"check.{key}"])
        for key, source in said.items()
    }


def _packages(sources: Sequence[Source]) -> Iterator[Setting]:
    found = next((source for source in sources if source.packages is not None), None)
    if found is None:
        yield Setting("packages", None, DEFAULT)
        return
    yield Setting("packages", found.packages, found.places["packages"])
    for name, distribution in _declared().items():
        if name not in (found.packages or ()):
            yield Setting("packages", (name,), distribution)


def _tables(sources: Sequence[Source]) -> Iterator[Setting]:
    keys = dict.fromkeys(
        (name, key) for source in sources for name, table in source.tables.items() for key in table
    )
    for name, key in keys:
        said = next(source for source in sources if key in source.tables.get(name, {}))
        full = f"package.{name}.{key}"
        yield Setting(full, said.tables[name][key], said.places[full])


@functools.cache
def _declared() -> Mapping[str, str]:
    """Return the packages that installed distributions declare, each with its distribution; import none."""
    points = importlib.metadata.entry_points(group=GROUP)
    return {
        point.name: f"{point.dist.name} {point.dist.version}" if point.dist else GROUP for point in points
    }


def _scope(names: Sequence[str] | None, settings: Sequence[Setting]) -> Scope:
    tables: dict[str, dict[str, Any]] = {name: {} for name in names or ()}
    for setting in settings:
        _, name, key = setting.key.split(".")
        tables.setdefault(name, {})[key] = setting.value
    policies = {name: _policy(table) for name, table in tables.items()}
    return Scope(policies, OPTED_IN if names is None else LEFT_ALONE)


def _policy(table: Mapping[str, Any]) -> Policy:
    served = table.get("served")
    return Policy(
        cuda=table.get("view", "cuda") == "cuda",
        literals=table.get("literals", table.get("view", "cuda") == "cuda"),
        served=None if served is None else frozenset(served),
    )


def _handed_down(text: str) -> Scope:
    try:
        return Scope.from_text(text)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ConfigurationError(variables.SCOPE, text, "morph sets this variable itself") from None

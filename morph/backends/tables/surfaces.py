"""The recorded surface of a release: a module's names and their signatures."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.resources
import json
import pathlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from morph.backends.tables import plugins
from morph.base.errors import MorphError, PluginError

if TYPE_CHECKING:
    from importlib.abc import Traversable


class UnknownSurfaceError(MorphError):
    """The requested recorded surface does not exist."""


class MalformedSurfaceError(MorphError):
    """A file is not a recorded surface."""


class Class(NamedTuple):
    """A class of a surface.

    Attributes:
        signature: The constructor's, ``"(device=None, priority=0, **kwargs)"``.
        members: Public members: a signature, ``"property"`` or ``"attribute"``.
        home: The dotted name that the class is recorded under; its other names are aliases.
    """

    signature: str
    members: Mapping[str, str]
    home: str


class Surface(NamedTuple):
    """The names of one release of one module, with everything below it.

    Attributes:
        package: The import name of the package that has it, ``"torch_npu"``.
        version: Its release.
        module: The dotted name of the module, ``"torch.npu"``.
        origin: The origin of the recording.
        modules: Dotted names of the module and its submodules.
        functions: Dotted name to signature; empty where the signature is unknown.
        classes: Dotted name to class.
        values: Dotted names of everything else.
    """

    package: str
    version: str
    module: str
    origin: str
    modules: frozenset[str]
    functions: Mapping[str, str]
    classes: Mapping[str, Class]
    values: frozenset[str]

    @property
    def names(self) -> frozenset[str]:
        """Every dotted name: modules, functions, classes and values, without the members of classes."""
        return self.modules | self.functions.keys() | self.classes.keys() | self.values

    def has(self, name: str) -> bool:
        """Return whether a dotted name exists, a class's member (``torch.npu.Stream.query``) included."""
        owner, _, member = name.rpartition(".")
        return name in self.names or (owner in self.classes and member in self.classes[owner].members)

    def signature(self, name: str) -> str | None:
        """Return the recorded signature of a function, a class or a method.

        Args:
            name: The dotted name.

        Returns:
            The text, ``"(device=None)"``; None for a name without one, or if it is unknown.
        """
        owner, _, member = name.rpartition(".")
        if name in self.functions:
            return self.functions[name] or None
        if name in self.classes:
            return self.classes[name].signature or None
        if owner in self.classes:
            text = self.classes[owner].members.get(member, "")
            return text[text.index("(") :] if "(" in text else None
        return None


@functools.cache
def load(name: str) -> Surface:
    """Read a recorded surface.

    Args:
        name: The file's name without the suffix, ``"torch_npu-2.13.0"``.

    Returns:
        The surface.

    Raises:
        UnknownSurfaceError: If nothing is recorded under that name.
    """
    files = (folder / f"{name}.json" for folder in _folders())
    file = next((file for file in files if file.is_file()), None)
    if file is None:
        raise UnknownSurfaceError(f"there is no recorded surface {name!r}; there are {', '.join(known())}")
    return parse(file.read_text(encoding="utf-8"), name)


def load_nearest(name: str) -> Surface:
    """Read the surface that :func:`nearest` names.

    Raises:
        UnknownSurfaceError: If nothing is recorded under that name.
    """
    return load(f"{name.rpartition('-')[0]}-{nearest(name)}")


def nearest(name: str) -> str:
    """Return the recorded release of a module that is nearest to the installed torch.

    Args:
        name: Any surface of the module, ``"torch_npu-2.13.0"``; without torch its release is returned.

    Returns:
        The last release that is not newer than torch, ``"2.13.0"``; if all are newer, the first.
    """
    module, _, own = name.rpartition("-")
    torch = _torch()
    if torch is None or release(own) == release(torch):
        return own
    recorded = sorted((each.rpartition("-")[2] for each in releases(module)), key=release)
    older = [each for each in recorded if release(each) <= release(torch)]
    return (older or recorded or [own])[-1 if older else 0]


def releases(module: str) -> list[str]:
    """Return the names of the recorded surfaces of a module.

    Args:
        module: As in their names, ``"torch_npu"``.
    """
    return [name for name in known() if name.rpartition("-")[0] == module]


def release(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version; none if it has no such numbers.

    >>> release("2.7.1.post11")
    (2, 7)
    """
    found = re.match(r"(\d+)\.(\d+)", version)
    return tuple(map(int, found.groups())) if found else ()


def numbers(version: str) -> tuple[int, ...]:
    """Return all numbers of a version, that of a post-release last, for comparisons; none if it has none.

    >>> numbers("2.9.1.post1+musa5.2.0")
    (2, 9, 1, 1)
    """
    found = re.match(r"\d+(\.\d+)*(\.post\d+)?", version)
    return tuple(map(int, re.findall(r"\d+", found[0]))) if found else ()


def _torch() -> str | None:
    loaded = getattr(sys.modules.get("torch"), "__version__", None)
    return str(loaded) if loaded else installed("torch")  # which takes some 20 ms to read


@functools.cache
def installed(distribution: str) -> str | None:
    """Return the version of an installed distribution, None if it is not installed."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def find(name: str) -> Surface:
    """Read a surface from the file ``name``, if there is one, else a recorded one.

    Raises:
        UnknownSurfaceError: If it is neither.
        MalformedSurfaceError: If it is no surface.
    """
    path = pathlib.Path(name)
    return parse(path.read_text(encoding="utf-8"), name) if path.is_file() else load(name)


def known() -> list[str]:
    """Return the names of the recorded surfaces."""
    names = {each.name for folder in _folders() for each in folder.iterdir()}
    return sorted(name.removesuffix(".json") for name in names if name.endswith(".json"))


def parse(text: str, path: str) -> Surface:
    """Read a surface from JSON ``text``; error messages name ``path``.

    Raises:
        MalformedSurfaceError: If the text is not a surface.
    """
    try:
        data = json.loads(text)
        return Surface(
            **{key: data[key] for key in ("package", "version", "module", "origin", "functions")},
            modules=frozenset(data["modules"]),
            classes={key: _class(key, data["classes"]) for key in data["classes"]},
            values=frozenset(data["values"]),
        )
    except (ValueError, LookupError, TypeError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise MalformedSurfaceError(f"{path} is not a recorded surface: {problem}") from None


def dumps(surface: Surface) -> str:
    """Return the JSON text of a surface, one name a line."""
    head = {key: getattr(surface, key) for key in ("package", "version", "module", "origin")}
    classes = {name: _class_row(name, each) for name, each in surface.classes.items()}
    parts = [
        *(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()),
        f'"modules": {_lines("[]", map(json.dumps, sorted(surface.modules)))}',
        f'"functions": {_rows(surface.functions)}',
        f'"classes": {_rows(classes)}',
        f'"values": {_lines("[]", map(json.dumps, sorted(surface.values)))}',
    ]
    return _lines("{}", parts) + "\n"


def _class_row(name: str, recorded: Class) -> str | dict[str, object]:
    if recorded.home != name:
        return recorded.home
    return {"signature": recorded.signature, "members": dict(recorded.members)}


def _rows(rows: Mapping[str, object]) -> str:
    return _lines("{}", (f"{json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(rows.items())))


def _lines(brackets: str, lines: Iterable[str]) -> str:
    return f"{brackets[0]}\n" + ",\n".join(lines) + f"\n{brackets[1]}"


def _folders() -> Iterator[Traversable]:
    """Yield morph's own folder, then those of backends from installed distributions."""
    yield importlib.resources.files("morph.aliases.surfaces")
    for plugin in plugins.installed().values():
        try:
            yield plugin.folder()
        except PluginError:  # reported when a backend is chosen
            continue


def _class(name: str, rows: Mapping[str, str | dict[str, object]]) -> Class:
    row = rows[name]
    if isinstance(row, str):
        return _class(row, rows)
    return Class(home=name, **row)  # type: ignore[arg-type]  # the file's keys are the fields

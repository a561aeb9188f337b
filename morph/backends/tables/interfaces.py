"""The interfaces that programs use by name: ``torch.cuda`` with its relatives, and the served packages."""

from __future__ import annotations

import functools
import importlib.resources
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from morph.backends.tables import package as packages
from morph.backends.tables import surfaces, table
from morph.backends.tables.decisions import CUDA_SURFACE, ROOT, decide
from morph.backends.tables.package import Package
from morph.backends.tables.rows import Row, Table
from morph.base.errors import MorphError


@dataclass(frozen=True, slots=True)
class Interface:
    """Names that belong together, and how each backend serves them.

    Attributes:
        name: ``"torch.cuda"``, or the package's import name.
        release: The release that has the names, ``"torch 2.13.0"``.
        names: Every name, modules of packages included, in alphabetical order.
        modules: The names of modules, including those of ``torch.cuda``.
        has: Returns whether a dotted name exists, that of a class's member included.
        decide: Returns how a backend serves a name.
    """

    name: str
    release: str
    names: tuple[str, ...]
    modules: frozenset[str]
    has: Callable[[str], bool]
    decide: Callable[[Table, str], Row]


def names() -> list[str]:
    """Return the names of the interfaces, that of ``torch.cuda`` first."""
    return [ROOT, *packages.names()]


@functools.cache
def load(name: str) -> Interface:
    """Return the interface called ``name``.

    Raises:
        MorphError: If it is none of ``names()``.
    """
    if name not in names():
        raise MorphError(f"morph serves no {name!r}; it serves {', '.join(names())}")
    return _cuda() if name == ROOT else _package(packages.load(name))


def of(name: str) -> Interface:
    """Return the interface that a dotted ``name`` belongs to: torch's, unless a package has it."""
    return load(_owners().get(name.partition(".")[0], ROOT))


def is_private(name: str) -> bool:
    """Return whether a name is private to its package, although programs use it."""
    return any(part.startswith("_") and not part.endswith("__") for part in name.split("."))


@functools.cache
def usage() -> Mapping[str, int]:
    """Return how many files spell each name.

    They are 31,521 of 48 public projects (accelerate, vllm, ...); xformers' names, and more of apex's and
    flash_attn's, are from a search of public code, up to ten files each.
    """
    text = (importlib.resources.files("morph.aliases") / "usage.json").read_text(encoding="utf-8")
    files: dict[str, int] = json.loads(text)
    return files


@functools.cache
def _owners() -> Mapping[str, str]:
    """Return the package of each top-level name."""
    return {name.partition(".")[0]: each for each in packages.names() for name in packages.load(each).names}


def _package(package: Package) -> Interface:
    modules = frozenset(name for name, kind in package.names.items() if kind == "module")
    serve = functools.cache(package.decide)  # the same on every backend

    def has(name: str) -> bool:
        owner = name.rpartition(".")[0]
        return name in package.names or (owner in package.names and owner not in modules)

    release = f"{package.distributions[0]} {package.version}"
    every = tuple(sorted(package.names))
    return Interface(package.name, release, every, modules, has, lambda table, name: serve(name))


def _cuda() -> Interface:
    recorded = surfaces.load_nearest(CUDA_SURFACE)
    tables = map(table.load, table.backend_names())
    rows = {name for each in tables for name in (*each.rows, *each.since, *each.until)}
    members = {name for name in rows if name not in recorded.modules and name != "torch.version"}
    every = recorded.names - recorded.modules | members
    release = f"{recorded.package} {recorded.version}"

    def has(name: str) -> bool:
        return name in every or recorded.has(name) or name.rpartition(".")[0] in recorded.values

    return Interface(ROOT, release, tuple(sorted(every)), recorded.modules, has, decide)

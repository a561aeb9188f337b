"""A served shared library: the facts and rows of its table in ``aliases/libraries``, and its recorded names.

The format is documented in ``aliases/libraries/README.md``.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import pathlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import morph
from morph.backends.tables.package import document, notes

LIBRARIES = pathlib.Path(morph.__path__[-1], "aliases", "libraries")
STATUSES = ("adapted", "emulated", "noop", "missing", "absent")
# a function of the same name whose default stream is the thread's own, or that profilers call in NCCL
_VARIANT = re.compile(r"_pt[sd][sz]$|^p(?=nccl)")

_VERSION = re.compile(r"_v\d+$")


@dataclass(frozen=True)
class Entry:
    """The status of one exported name.

    Attributes:
        status: One of ``STATUSES``.
        note: What it does differently, or the reason why it is not served.
    """

    status: str
    note: str

    @property
    def is_served(self) -> bool:
        """Whether a call of it does what it says."""
        return self.status not in ("missing", "absent")


@dataclass(frozen=True)
class Vendor:
    """A vendor's part of a library's table.

    Attributes:
        library: The vendor's library; empty if it has no counterpart.
        calls: The vendor's call for each name that it has a counterpart of.
        errors: CUDA's error code for each of the vendor's.
        reason: Why other names are not served.
    """

    library: str = ""
    calls: Mapping[str, str] = dataclasses.field(default_factory=dict)
    errors: Mapping[str, int] = dataclasses.field(default_factory=dict)
    reason: str = "the vendor has no counterpart that morph knows"


@dataclass(frozen=True)
class Library:
    """A shared library that morph serves.

    Attributes:
        name: Its name without a version, ``"libcudart"``.
        title: What it is, for people.
        default: The version that is meant where none is named, ``"libcudart.so.12"``.
        refusal: The code that a function which is not served returns.
        releases: Its exported names by its file name, as recorded.
        rows: The statuses by name, or by a prefix that ends in ``*``.
        vendors: The vendors' parts, by backend.
        facts: The rest of its section ``[library]``.
    """

    name: str
    title: str
    default: str
    refusal: int
    releases: Mapping[str, tuple[str, ...]]
    rows: Mapping[str, Entry]
    vendors: Mapping[str, Vendor]
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def entry(self, name: str) -> Entry:
        """Return the status of an exported name on the software device; an unknown one is absent."""
        name = base(name)
        patterns = (name[:length] + "*" for length in range(len(name), 0, -1))
        found = next(filter(None, map(self.rows.get, (*self.spellings(name), *patterns))), None)
        return found or Entry("absent", f"{self.name} has no such name")

    def spellings(self, name: str) -> list[str]:
        """Return the names by which a function may be known here, the nearest one first."""
        spelled = [base(name)]
        if self.facts.get("versions") == "alike":
            spelled.append(_VERSION.sub("", spelled[0]))
        return spelled

    def entry_on(self, backend: str, name: str) -> Entry:
        """Return the status of an exported name on a backend; ``"cpu"`` is the software device."""
        own = self.entry(name)
        if backend == "cpu" or own.status in ("noop", "absent"):
            return own
        vendor = self.vendors.get(backend, Vendor())
        call = next(filter(None, map(vendor.calls.get, self.spellings(name))), None)
        if call is None and self.is_everywhere(name):
            return own
        return Entry("adapted", call) if call else Entry("missing", vendor.reason)

    def is_everywhere(self, name: str) -> bool:
        """Return whether morph answers for an exported name on every backend."""
        listed: list[str] = self.facts.get("everywhere", [])
        return listed == ["*"] or base(name) in listed

    def file_of(self, file: str) -> str | None:
        """Return the recorded version that a file name means, or None if it is not of this library.

        >>> load("libcudart").file_of("libcudart.so.11")
        'libcudart.so.11.0'
        """
        if file in self.releases:
            return file
        if file == f"{self.name}.so":
            return self.default
        return next((each for each in self.releases if each.startswith(f"{file}.")), None)


def base(name: str) -> str:
    """Return the name that a variant is one of.

    >>> base("cudaMemcpy_ptds"), base("pncclSend")
    ('cudaMemcpy', 'ncclSend')
    """
    return _VARIANT.sub("", name)


def names() -> list[str]:
    """Return the names of the libraries that have a table."""
    return sorted(path.stem for path in LIBRARIES.glob("*.toml"))


@functools.cache
def load(name: str) -> Library:
    """Read the table of a library.

    Raises:
        TableError: If it is malformed.
    """
    path = f"aliases/libraries/{name}.toml"
    sections = document((LIBRARIES / f"{name}.toml").read_text(encoding="utf-8"), path)
    facts, vendors = sections.pop("library"), sections.pop("vendor", {})
    said = notes(sections, STATUSES, path)
    return Library(
        name=name,
        title=facts.pop("title"),
        default=facts.pop("default"),
        refusal=facts.pop("refusal"),
        releases=_releases(name),
        rows={name: Entry(*each) for name, each in said.items()},
        vendors={backend: Vendor(**facts) for backend, facts in vendors.items()},
        facts=facts,
    )


def _releases(name: str) -> dict[str, tuple[str, ...]]:
    recorded = json.loads((LIBRARIES / f"{name}.json").read_text(encoding="utf-8"))
    return {file: tuple(names) for file, names in recorded["names"].items()}

"""The rules for uses of CUDA that need a person's attention, read from ``rules.toml``."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from morph.backends.tables.rows import Facts
from morph.base import toml
from morph.kernels import extensions

_SHOWN = 40
_OF_SOURCES: Mapping[str, Callable[[], Mapping[str, str]]] = {
    "cuda-feature": extensions.refused_features,
    "cuda-library": extensions.refused_libraries,
}
"""The rules that find what CUDA sources may not hold on the software device: it, and what to use instead."""


@dataclass(frozen=True)
class Rule:
    """One rule; the keys of its section in ``rules.toml``, which documents them.

    Attributes:
        name: The section's name.
    """

    name: str
    says: str
    remedy: str
    works_on: tuple[str, ...] = ()
    works: Mapping[str, str] = field(default_factory=dict)
    on: Mapping[str, str] = field(default_factory=dict)
    differs: Mapping[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    text: str = ""
    alone: str = ""
    keywords: tuple[str, ...] = ()
    compares: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    packages: Mapping[str, str] = field(default_factory=dict)

    def covers(self, name: str) -> bool:
        """Return whether a dotted name is one of ``names``."""
        return bool(self.names) and self._names.fullmatch(name) is not None

    @functools.cached_property
    def _names(self) -> re.Pattern[str]:
        forms = (re.escape(name).replace(r"\*", r"\w*") for name in self.names)
        return re.compile(rf"({'|'.join(forms)})(\..*)?")

    def is_said_of(self, name: str, used: Container[str]) -> bool:
        """Return whether the rule finds a dotted name in a file that uses the names ``used``."""
        return self.covers(name) and (not self.beside or any(each in used for each in self.beside))

    def difference(self, facts: Facts) -> str:
        """Return how a backend differs, for a rule that finds differences; empty if it does not."""
        if facts.name in self.differs:
            return self.differs[facts.name]
        held = (text for key, text in self.differs.items() if _holds(facts, *key.split(".")))
        return next(held, "")

    def about(self, keywords: Iterable[str | None], texts: Iterable[str]) -> str | None:
        """Return the argument that makes the rule apply to a call of one of ``calls``.

        Args:
            keywords: The call's keywords.
            texts: Every text in its arguments.

        Returns:
            The argument for a reader; empty if the rule applies to every call; None if it does not apply.
        """
        if not self.text and not self.keywords:
            return ""
        if self.text:
            text = next((text for text in texts if re.search(self.text, text)), None)
            if text is not None:
                return repr(text[:_SHOWN])
        return next((f"{keyword}=..." for keyword in keywords if keyword in self.keywords), None)

    def package_of(self, name: str) -> str | None:
        """Return the one of ``packages`` that a dotted name belongs to, or None."""
        return next((each for each in self.packages if name == each or name.startswith(f"{each}.")), None)


def _holds(facts: Facts, key: str, value: str = "") -> bool:
    held = getattr(facts, key, ())
    return value in held if value else bool(held)


@functools.cache
def rules() -> Mapping[str, Rule]:
    """Return the rules by their names."""
    shared = {key: _table()[key] for key in ("on", "works", "calls")}
    sections = {name: each for name, each in _table().items() if name not in (*shared, "mentions")}
    return {name: _rule(name, section, shared) for name, section in sections.items()}


@functools.cache
def by(key: str) -> Mapping[str, list[Rule]]:
    """Return the rules by each thing that they list under a key: ``by("calls")["os.system"]``."""
    found: dict[str, list[Rule]] = {}
    for rule in rules().values():
        for name in getattr(rule, key):
            found.setdefault(name, []).append(rule)
    return found


def mentions() -> list[str]:
    """Return the texts, in lower case, one of which is in each file with a use of torch's or NVIDIA's."""
    texts: list[str] = _table()["mentions"]
    return texts


@functools.cache
def _table() -> dict[str, Any]:
    return toml.beside(__file__, "rules.toml")


def _rule(name: str, section: Mapping[str, Any], shared: Mapping[str, Any]) -> Rule:
    named = {key: texts[section[key]] for key, texts in shared.items() if isinstance(section.get(key), str)}
    whole = {**section, **named}.items()
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in whole}
    if name in _OF_SOURCES:
        values["packages"] = _OF_SOURCES[name]()
    return Rule(name, **values)

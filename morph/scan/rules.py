"""The rules for uses of CUDA that need a person's attention, read from ``rules.toml``."""

from __future__ import annotations

import functools
import importlib.resources
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_SHOWN = 40


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
    names: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    text: str = ""
    alone: str = ""
    keywords: tuple[str, ...] = ()
    compares: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    packages: Mapping[str, str] = field(default_factory=dict)

    def covers(self, name: str) -> bool:
        """Return whether a dotted name is one of ``names``."""
        return bool(self.names) and self._names.fullmatch(name) is not None

    @functools.cached_property
    def _names(self) -> re.Pattern[str]:
        forms = (re.escape(name).replace(r"\*", r"\w*") for name in self.names)
        return re.compile(rf"({'|'.join(forms)})(\..*)?")

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


@functools.cache
def rules() -> Mapping[str, Rule]:
    """Return the rules by their names."""
    text = importlib.resources.files(__package__).joinpath("rules.toml").read_text(encoding="utf-8")
    sections = tomllib.loads(text)
    return {name: _rule(name, section) for name, section in sections.items()}


def _rule(name: str, section: Mapping[str, Any]) -> Rule:
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in section.items()}
    return Rule(name, **values)

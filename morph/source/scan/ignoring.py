"""The findings that a user knows of and does not want to see."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence

from morph.base.errors import MorphError, did_you_mean
from morph.source.scan.report import DIFFERENT, MISSING, Finding
from morph.source.scan.rules import rules


class UnknownRuleError(MorphError):
    """A finding that is to be ignored is none that a scan makes."""

    def __init__(self, text: str) -> None:
        hint = did_you_mean(text, _known())
        super().__init__(f"there is no rule {text!r} to ignore, and it is no dotted name{hint}")


def check(entries: Iterable[str]) -> None:
    """Check that each entry is a rule's name, or can be a name that is used.

    Raises:
        UnknownRuleError: For the first that is neither.
    """
    for entry in entries:
        if entry not in _known() and not entry.replace("*", "_").replace(".", "_").isidentifier():
            raise UnknownRuleError(entry)


def is_ignored(finding: Finding, entries: Sequence[str]) -> bool:
    """Return whether a finding is of one of these rules, or its name matches one of these patterns."""
    if not (finding.look or finding.differs):
        return False
    return any(entry == finding.rule or fnmatch.fnmatchcase(finding.use.name, entry) for entry in entries)


def _known() -> list[str]:
    return [MISSING, DIFFERENT, *rules()]

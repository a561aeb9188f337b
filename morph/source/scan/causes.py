"""The causes of a report's findings: what is the same in many places is said once."""

from __future__ import annotations

import itertools
import pathlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from morph.backends.tables.rows import Status
from morph.source.scan.report import Finding, Report
from morph.source.scan.rules import rules

_WORDS: Mapping[Status | None, str] = {
    Status.EMULATED: "is emulated",
    Status.NOOP: "does nothing",
    Status.MISSING: "is missing",
}


@dataclass(frozen=True, slots=True)
class Cause:
    """What many findings have in common.

    Attributes:
        rule: The rule that found them.
        findings: In the order of files and lines.
    """

    rule: str
    findings: tuple[Finding, ...]

    @property
    def look(self) -> bool:
        """Whether a person must look at it; else it works, with differences."""
        return self.findings[0].look

    @property
    def names(self) -> list[str]:
        """The names that are used, the most frequent first."""
        return [name for name, _ in Counter(each.use.name for each in self.findings).most_common()]

    @property
    def title(self) -> str:
        """A name for it: that of a package, of the only name that is used, or of the rule."""
        if self.rule in rules() and not rules()[self.rule].packages:
            return self.rule
        first, *others = self.names
        return f"{first} and {len(others)} more" if others else first

    @property
    def says(self) -> str:
        """What was found; empty where a table says it, in ``notes``."""
        return rules()[self.rule].says if self.rule in rules() else ""

    @property
    def remedy(self) -> str:
        """What to do about it; empty where the notes contain it."""
        return rules()[self.rule].remedy if self.rule in rules() else ""

    @property
    def action(self) -> str:
        """What to do about it, in one clause: what stands for a package, the remedy, or what a table says."""
        stands_for = rules()[self.rule].packages if self.rule in rules() else {}
        return stands_for.get(self.names[0]) or self.remedy or next(iter(self.notes))

    @property
    def notes(self) -> Mapping[str, list[str]]:
        """The backends by what is said of them."""
        found: dict[str, list[str]] = {}
        for finding in self.findings:
            for backend, note in _notes(finding):
                if backend not in found.setdefault(note, []):
                    found[note].append(backend)
        return found

    @property
    def lines(self) -> Mapping[pathlib.Path, list[int]]:
        """The lines of each file, the files with most first."""
        by_file = itertools.groupby(self.findings, lambda finding: finding.file)
        lines = {file: sorted({each.use.place.line for each in found}) for file, found in by_file}
        return dict(sorted(lines.items(), key=lambda item: -len(item[1])))


def causes(report: Report) -> list[Cause]:
    """Return the causes of what is to look at, then of the differences, each with the most frequent first."""
    found: dict[tuple[object, ...], list[Finding]] = {}
    for finding in report.findings:
        if finding.look or finding.differs:
            found.setdefault(_key(finding), []).append(finding)
    made = [Cause(findings[0].rule, tuple(findings)) for findings in found.values()]
    return sorted(made, key=lambda cause: (not cause.look, -len(cause.findings), cause.title))


def _key(finding: Finding) -> tuple[object, ...]:
    """Return what findings of one cause share: a rule, a package, or what the tables say of names."""
    if not finding.use.rule:
        return finding.look, *_notes(finding), "" if finding.look else finding.use.name
    package = finding.use.name if rules()[finding.use.rule].packages else ""
    return finding.look, finding.use.rule, package


def _notes(finding: Finding) -> Iterator[tuple[str, str]]:
    for backend, answer in finding.answers.items():
        if answer.look or (answer.differs and (bool(finding.use.rule) or not finding.look)):
            yield backend, answer.note or _WORDS.get(answer.status, "")


def files_with_most(causes: Iterable[Cause]) -> list[tuple[pathlib.Path, int]]:
    """Return the files with the number of findings in each, the files with most first."""
    return Counter(each.file for cause in causes for each in cause.findings).most_common()

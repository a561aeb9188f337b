"""A report as SARIF 2.1.0, which code hosts show beside the code."""

from __future__ import annotations

import os
import pathlib
import urllib.parse
from collections.abc import Iterator
from typing import Any

from morph import __version__
from morph.backends.tables import table
from morph.source.module import Place
from morph.source.scan.causes import Cause
from morph.source.scan.report import DIFFERENT, MISSING, UNPARSED, Finding, Report, Unparsed
from morph.source.scan.rules import rules
from morph.source.scan.statuses import Answer

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "SRCROOT"
_LEVELS = {True: "warning", False: "note"}
_OWN_RULES = {
    MISSING: ("error", "a name that a backend does not serve"),
    DIFFERENT: ("note", "a name that a backend emulates, or for which it does nothing"),
}


def sarif(report: Report, root: pathlib.Path) -> dict[str, Any]:
    """Return a report as a SARIF log; uses that work as on CUDA are not results.

    Args:
        report: The report of a scan.
        root: The folder that paths are relative to: the repository's on a code host.
    """
    results = [_result(finding, root) for finding in report.findings if finding.look or finding.differs]
    driver = {"name": "morph check", "version": __version__, "rules": [*_rules()]}
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": True}],
        "originalUriBaseIds": {ROOT: {"uri": root.as_uri() + "/"}},
        "columnKind": "unicodeCodePoints",
        "results": [*results, *(_unparsed(each, root) for each in report.unparsed)],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rules() -> Iterator[dict[str, Any]]:
    for name, (level, says) in _OWN_RULES.items():
        yield _rule(name, level, says, "see `python -m morph explain` on the name")
    for rule in rules().values():
        yield _rule(rule.name, _LEVELS[not rule.differs], rule.says, rule.remedy)


def _rule(name: str, level: str, says: str, remedy: str) -> dict[str, Any]:
    return {
        "id": name,
        "shortDescription": {"text": says},
        "fullDescription": {"text": f"{says}; {remedy}"},
        "help": {"text": remedy},
        "defaultConfiguration": {"level": level},
    }


def _result(finding: Finding, root: pathlib.Path) -> dict[str, Any]:
    use = finding.use
    level = _OWN_RULES[finding.rule][0] if finding.rule in _OWN_RULES else _LEVELS[finding.look]
    text = f"{use.name}: {_said(finding)}"
    return _located(finding.rule, level, text, finding.file, use.place, root)


def _unparsed(unparsed: Unparsed, root: pathlib.Path) -> dict[str, Any]:
    place = Place(unparsed.line, 1, unparsed.line, 1)
    return _located(UNPARSED, "warning", unparsed.message, unparsed.file, place, root)


def _said(finding: Finding) -> str:
    """Return what is said of a use, with the backends on which it is not as on CUDA."""
    if not finding.use.rule:
        answers = finding.answers.items()
        return "; ".join(_on_backend(name, answer) for name, answer in answers if answer.differs)
    cause = Cause(finding.rule, (finding,))
    said = ((note, [table.facts(name).title for name in names]) for note, names in cause.notes.items())
    notes = [f"{note} ({', '.join(titles)})" for note, titles in said if note != cause.says]
    return "; ".join([cause.says, *notes, cause.remedy])


def _on_backend(name: str, answer: Answer) -> str:
    word = answer.status.value if answer.status else ""
    note = f" ({answer.note})" if answer.note else ""
    return f"{word} on {table.facts(name).title}{note}"


def _located(
    rule: str, level: str, text: str, file: pathlib.Path, place: Place, root: pathlib.Path
) -> dict[str, Any]:
    region = dict(zip(("startLine", "startColumn", "endLine", "endColumn"), place, strict=True))
    return {
        "ruleId": rule,
        "ruleIndex": [*_OWN_RULES, *rules()].index(rule),
        "level": level,
        "message": {"text": text},
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(file, root), "region": region}}],
    }


def _artifact(file: pathlib.Path, root: pathlib.Path) -> dict[str, str]:
    path = pathlib.Path(os.path.realpath(file))  # unlike resolve(), of a loop of links too
    if path.is_relative_to(root):
        return {"uri": urllib.parse.quote(os.fsencode(path.relative_to(root))), "uriBaseId": ROOT}
    return {"uri": path.as_uri()}

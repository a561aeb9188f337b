"""A report as JSON: every use, and the causes."""

from __future__ import annotations

from typing import Any

from morph.source.scan.causes import Cause, causes
from morph.source.scan.report import Finding, Report


def as_json(report: Report) -> dict[str, Any]:
    """Return the content that ``--json`` prints."""
    found = causes(report)
    numbers = {id(finding): number for number, cause in enumerate(found) for finding in cause.findings}
    return {
        "backends": report.backends,
        "files": report.files,
        "uses": [_use(finding, numbers.get(id(finding))) for finding in report.findings],
        "causes": [_cause(cause) for cause in found],
        "ignored": report.ignored,
        "left_out": [str(each) for each in report.left_out],
        "unparsed": [
            {"file": str(each.file), "line": each.line, "message": each.message} for each in report.unparsed
        ],
    }


def _use(finding: Finding, cause: int | None) -> dict[str, Any]:
    return {
        "file": str(finding.file),
        **finding.use.place._asdict(),
        "name": finding.use.name,
        "kind": finding.use.kind.name.lower(),
        "rule": finding.rule or None,
        "cause": cause,
        "look": finding.look,
        "remedy": finding.remedy,
        "backends": {
            name: {
                "status": answer.status.value if answer.status else None,
                "note": answer.note,
                "look": answer.look,
                "differs": answer.differs,
            }
            for name, answer in finding.answers.items()
        },
    }


def _cause(cause: Cause) -> dict[str, Any]:
    return {
        "title": cause.title,
        "rule": cause.rule,
        "look": cause.look,
        "says": cause.says,
        "remedy": cause.remedy,
        "names": cause.names,
        "places": len(cause.findings),
        "files": len(cause.lines),
        "notes": [{"backends": backends, "note": note} for note, backends in cause.notes.items()],
    }

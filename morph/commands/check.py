"""``morph check``: a program's uses of CUDA, found in its source without running it."""

from __future__ import annotations

import argparse
import json
import pathlib
from typing import TYPE_CHECKING, Any

from morph.errors import MorphError

if TYPE_CHECKING:
    from morph.scan.report import Report

EXAMPLE = "check --backend npu train.py"
FOUND = 1
EPILOG = """\
Exit status: 0 if there is nothing to look at, 1 if there is, if a name is missing on a requested
backend, or if a file cannot be read, 2 if the command line is invalid."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    add = parser.add_argument
    add("paths", nargs="*", metavar="PATH", help="a file, or a folder with everything below it")
    add("-p", "--package", action="append", default=[], metavar="NAME", help="an installed package")
    add("--backend", action="append", metavar="NAME", help="check only this backend; can be repeated")
    add("--json", action="store_true", help="print JSON instead of text")
    add("--sarif", metavar="FILE", help="also write SARIF 2.1.0; - is standard output")
    parser.epilog = EPILOG


def run(arguments: argparse.Namespace) -> int:
    """Print the findings, and return the exit status."""
    from morph.display import looking
    from morph.scan.files import NothingToScanError, files
    from morph.scan.scanning import scan
    from morph.tables import table

    if not arguments.paths and not arguments.package:
        raise NothingToScanError("give a file, a folder, or a package (-p NAME)")
    backends = [table.load(name).facts.name for name in arguments.backend or table.backend_names()]
    with looking("scanning") as progress:
        report = scan(files(arguments.paths, arguments.package), backends, progress)
    _write(report, arguments)
    return FOUND if report.look else 0


def _write(report: Report, arguments: argparse.Namespace) -> None:
    from morph.scan.printing import print_report
    from morph.scan.sarif import sarif

    if arguments.sarif:
        text = json.dumps(sarif(report, pathlib.Path.cwd()), indent=1) + "\n"
        if arguments.sarif == "-":
            print(text, end="")
            return
        _save(text, arguments.sarif)
    if arguments.json:
        print(json.dumps(as_json(report), indent=1))
    else:
        print_report(report)


def _save(text: str, file: str) -> None:
    try:
        pathlib.Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise MorphError(f"cannot write {file}: {error.strerror}") from None


def as_json(report: Report) -> dict[str, Any]:
    """Return the content that ``--json`` prints."""
    return {
        "backends": report.backends,
        "files": report.files,
        "uses": [
            {
                "file": str(finding.file),
                "line": finding.use.place.line,
                "column": finding.use.place.column,
                "end_line": finding.use.place.end_line,
                "end_column": finding.use.place.end_column,
                "name": finding.use.name,
                "kind": finding.use.kind.name.lower(),
                "rule": finding.use.rule or None,
                "look": finding.look,
                "remedy": finding.remedy,
                "backends": {
                    name: {
                        "status": answer.status.value if answer.status else None,
                        "note": answer.note,
                        "look": answer.look,
                    }
                    for name, answer in finding.answers.items()
                },
            }
            for finding in report.findings
        ],
        "unparsed": [
            {"file": str(each.file), "line": each.line, "message": each.message} for each in report.unparsed
        ],
    }

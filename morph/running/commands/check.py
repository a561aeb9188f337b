"""``morph check``: a program's uses of CUDA, found in its source without running it."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
from collections.abc import Iterable, Iterator

from morph.activation import configuration
from morph.activation.configuration import Settings
from morph.backends.tables import table
from morph.base.display import looking
from morph.base.errors import ConfigurationError, MorphError
from morph.source.scan.document import as_json
from morph.source.scan.exclusion import Pattern
from morph.source.scan.files import chosen, locate
from morph.source.scan.ignoring import UnknownRuleError, check
from morph.source.scan.printing import print_report
from morph.source.scan.report import Report
from morph.source.scan.sarif import sarif
from morph.source.scan.scanning import scan

EXAMPLE = "check --backend npu train.py"
FOUND = 1
DESCRIPTION = """\
Without --all, causes have some of their places. Folders that are hidden, a virtual environment, or the
output of a build or package manager are left out, unless they are named. The table [tool.morph.check] of
pyproject.toml ([check] in morph.toml) takes lists of paths, exclude, backends and ignore."""
EPILOG = """\
Exit status: 0 if there is nothing to look at, 1 if there is, if a name is missing on a requested
backend, or if a file cannot be read, 2 if the command line is invalid. Differences, and what is
ignored, do not count."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    add = parser.add_argument
    where = "a file, or a folder with everything below it (default: the current folder)"
    add("paths", nargs="*", metavar="PATH", help=where)
    add("-p", "--package", action="append", default=[], metavar="NAME", help="an installed package")
    add("--backend", action="append", metavar="NAME", help="check only this backend; can be repeated")
    excluded = "leave out a name ('tests', '*_pb2.py') or a path ('csrc/**/old'); can be repeated"
    add("--exclude", action="append", default=[], metavar="PATTERN", help=excluded)
    ignored = "leave out findings of this rule, or of names like 'torch.cuda.nvtx.*'; can be repeated"
    add("--ignore", action="append", default=[], metavar="RULE", help=ignored)
    add("--all", action="store_true", help="print every place of each cause, and every use")
    add("--json", action="store_true", help="print JSON instead of text, with every use")
    add("--sarif", metavar="FILE", help="also write SARIF 2.1.0; - is standard output")
    parser.description = f"{parser.description} {DESCRIPTION}"
    parser.epilog = EPILOG


def run(arguments: argparse.Namespace) -> int:
    """Print the findings, and return the exit status.

    Raises:
        MorphError: If a path, a package, a backend or a rule does not exist.
    """
    settings = configuration.effective(_folder(arguments.paths))
    if not arguments.paths and not arguments.package:
        arguments.paths = _paths(settings)
    report = _scanned(arguments, settings)
    _write(report, arguments)
    return FOUND if report.look else 0


def _paths(settings: Settings) -> list[str]:
    """Return what a project wants to be checked, as seen from the current folder; else that folder."""
    said = settings.check.get("paths")
    if said is None:
        return ["."]
    root = os.path.dirname(os.path.abspath(said.place))
    return [os.path.relpath(os.path.join(root, path)) for path in said.value]


def _scanned(arguments: argparse.Namespace, settings: Settings) -> Report:
    places = [*map(pathlib.Path, arguments.paths), *map(locate, arguments.package)]
    found, left_out = chosen(places, [*_patterns(arguments.exclude, places, settings)])
    backends, ignored = _backends(arguments, settings), _ignored(arguments, settings)
    with looking("scanning") as progress:
        report = scan(found, backends, progress, ignored)
    return dataclasses.replace(report, left_out=tuple(left_out))


def _folder(paths: Iterable[str]) -> pathlib.Path:
    """Return the folder around all paths, from which on a project's configuration is looked for."""
    common = pathlib.Path(os.path.commonpath([os.path.abspath(path) for path in paths] or [os.getcwd()]))
    return common if common.is_dir() else common.parent


def _patterns(texts: Iterable[str], places: Iterable[pathlib.Path], settings: Settings) -> Iterator[Pattern]:
    """Yield the patterns of what to leave out: from here, from each place, and from the project's folder."""
    roots = [os.getcwd(), *map(os.path.abspath, places)]
    yield from (Pattern(text, root) for text in texts for root in roots)
    said = settings.check.get("exclude")
    if said:
        roots.append(os.path.dirname(os.path.abspath(said.place)))
        yield from (Pattern(text, root) for text in said.value for root in roots)


def _backends(arguments: argparse.Namespace, settings: Settings) -> list[str]:
    said = settings.check.get("backends")
    names = arguments.backend or (said.value if said else table.backend_names())
    return [table.facts(name).name for name in dict.fromkeys(names)]


def _ignored(arguments: argparse.Namespace, settings: Settings) -> list[str]:
    check(arguments.ignore)
    said = settings.check.get("ignore")
    if said is None:
        return list(arguments.ignore)
    try:
        check(said.value)
    except UnknownRuleError as error:
        raise ConfigurationError(said.place, said.key, str(error)) from None
    return [*arguments.ignore, *said.value]


def _write(report: Report, arguments: argparse.Namespace) -> None:
    if arguments.sarif:
        text = json.dumps(sarif(report, pathlib.Path.cwd()), indent=1) + "\n"
        if arguments.sarif == "-":
            print(text, end="")
            return
        _save(text, arguments.sarif)
    if arguments.json:
        print(json.dumps(as_json(report), indent=1))
    else:
        print_report(report, everything=arguments.all)


def _save(text: str, file: str) -> None:
    try:
        pathlib.Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise MorphError(f"cannot write {file}: {error.strerror}") from None

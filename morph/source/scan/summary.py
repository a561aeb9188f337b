"""The beginning of a report as text: its numbers, and what to do about most of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.table import Table

from morph.backends.tables.rows import Status
from morph.base.display import counted, printable, wrapped
from morph.source.scan.causes import Cause, files_with_most
from morph.source.scan.report import Report
from morph.source.scan.statuses import Answer

CAUSES, FILES, LINES = 7, 4, 2
"""The most that are shown of causes and files, and the most lines of a cause."""
LOOK, MISSING = "to look at", "- missing"
VERDICTS = {"works": "green", "differs": "yellow", LOOK: "bold red", MISSING: "red"}


def print_summary(report: Report, causes: Sequence[Cause], screen: Console) -> None:
    """Print the numbers of a report by backend, by cause and by file."""
    _print(wrapped(sentence(report, causes), screen.width), screen, "bold")
    if report.findings:
        screen.print()
        screen.print(_by_backend(report))
    looked = [cause for cause in causes if cause.look]
    if looked:
        _print("\nplaces  files  to look at, and what to do", screen)
    for cause in looked[:CAUSES]:
        first = f"{len(cause.findings):6}{len(cause.lines):7}  "
        _print(wrapped(f"{cause.title}: {cause.action}", screen.width, first, " " * 15, LINES), screen)
    if len(looked) > CAUSES:
        rest = looked[CAUSES:]
        _print(f"{_places(rest):6}         {counted(len(rest), 'more cause')}", screen)
    _print_files(looked, screen)


def _print(text: str, screen: Console, style: str = "") -> None:
    screen.print(text, style=style, soft_wrap=True, markup=False)


def sentence(report: Report, causes: Sequence[Cause]) -> str:
    """Return a report in one sentence."""
    files = {finding.file for finding in report.findings}
    uses = counted(len(report.findings), "use")
    parts = [f"{uses} of CUDA in {len(files)} of {counted(report.files, 'file')}"]
    for look, what in ((True, "to look at"), (False, "with differences")):
        some = [cause for cause in causes if cause.look is look]
        parts.append(f"{_places(some)} {what} ({counted(len(some), 'cause')})" if some else f"0 {what}")
    parts += [f"{counted(len(report.unparsed), 'file')} not read"] if report.unparsed else []
    parts += [f"{report.ignored} ignored"] if report.ignored else []
    return ", ".join(parts)


def _by_backend(report: Report) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("uses", width=max(map(len, VERDICTS)))
    alike = Counter(id(finding.answers) for finding in report.findings)
    groups = {id(finding.answers): finding.answers for finding in report.findings}
    numbers = []
    for name in report.backends:
        table.add_column(name, justify="right", min_width=5)
        verdicts = [dict.fromkeys(_verdicts(groups[key][name]), count) for key, count in alike.items()]
        numbers.append(sum(map(Counter, verdicts), Counter[str]()))
    for verdict, style in VERDICTS.items():
        table.add_row(verdict, *(_number(each[verdict], style) for each in numbers))
    return table


def _number(number: int, style: str) -> str:
    return f"[{style}]{number}[/]" if number else "0"


def _verdicts(answer: Answer) -> Iterator[str]:
    yield LOOK if answer.look else "differs" if answer.differs else "works"
    if answer.look and answer.status is Status.MISSING:
        yield MISSING


def _places(causes: Iterable[Cause]) -> int:
    return sum(len(cause.findings) for cause in causes)


def _print_files(looked: Sequence[Cause], screen: Console) -> None:
    files = files_with_most(looked)
    if len(files) > 1:
        _print("\nplaces  files with most to look at", screen)
        for file, number in files[:FILES]:
            _print(f"{number:6}  {printable(str(file))}", screen)

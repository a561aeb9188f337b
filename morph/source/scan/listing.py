"""Every use in each file of a report, as a table with a column for each backend."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.table import Table

from morph.backends.tables.rows import Status
from morph.base.display import escaped
from morph.source.scan.report import Finding, Report
from morph.source.scan.statuses import Answer

LOOK, DIFFERS, WORKS = "look", "diff", "-"
WORDS = {
    Status.SAME: "yes",
    Status.RENAMED: "yes",
    Status.ADAPTED: "yes",
    Status.EMULATED: "emul",
    Status.NOOP: "noop",
    Status.MISSING: "no",
}
STYLES = {
    **dict.fromkeys(("yes", WORKS), "green"),
    **dict.fromkeys(("emul", "noop", DIFFERS), "yellow"),
    **{"no": "red", LOOK: "bold red"},
}
LEGEND = (
    "yes: served by the device's own; emul: emulated by morph; noop: does nothing; no: missing; "
    "diff: works, though not as on CUDA; look: to look at"
)
LINE_WIDTH, WORD_WIDTH, WIDEST_USE = 6, 5, 36


def print_uses(report: Report, screen: Console) -> None:
    """Print a table of the uses in each file."""
    for file, findings in itertools.groupby(report.findings, lambda finding: finding.file):
        screen.print(f"[bold]{escaped(str(file))}[/]", soft_wrap=True)
        screen.print(_table(list(findings), report, screen))
    if len(report.backends) > 1 and report.findings:
        screen.print(f"\n{LEGEND}\n")


def _table(findings: list[Finding], report: Report, screen: Console) -> Table:
    shown = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    shown.add_column("line", justify="right", width=LINE_WIDTH, no_wrap=True)
    if len(report.backends) == 1:
        shown.add_column("use", overflow="fold", width=min(WIDEST_USE, _longest(report.findings)))
        shown.add_column(report.backends[0], width=len("emulated"))
        shown.add_column("", overflow="fold")
    else:
        room = screen.width - LINE_WIDTH - 2 - len(report.backends) * WORD_WIDTH
        shown.add_column("use", overflow="fold", width=min(room, _longest(report.findings)))
        for name in report.backends:
            shown.add_column(name, width=WORD_WIDTH - 1, no_wrap=True)
    for finding in findings:
        shown.add_row(*_row(finding))
    return shown


def _longest(findings: Iterable[Finding]) -> int:
    return max(len(finding.use.name) for finding in findings)


def _row(finding: Finding) -> Iterator[str]:
    yield str(finding.use.place.line)
    yield escaped(finding.use.name)
    answers = list(finding.answers.values())
    if len(answers) == 1:
        [answer] = answers
        word = answer.status.value if answer.status else _word(answer)
        yield f"[{STYLES[_word(answer)]}]{word}[/]"
        yield escaped(answer.note)
    else:
        yield from (f"[{STYLES[_word(answer)]}]{_word(answer)}[/]" for answer in answers)


def _word(answer: Answer) -> str:
    if answer.status is None:
        return LOOK if answer.look else DIFFERS if answer.differs else WORKS
    return WORDS[answer.status]

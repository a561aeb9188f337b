"""A report as text: the uses in each file, with a column for each backend, then those needing attention."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from morph.display import console, counted, escaped
from morph.scan.report import Finding, Report
from morph.scan.rules import rules
from morph.scan.statuses import Answer
from morph.tables.rows import Status

LOOK, WORKS = "look", "-"
WORDS = {
    Status.SAME: "yes",
    Status.RENAMED: "yes",
    Status.ADAPTED: "yes",
    Status.EMULATED: "emul",
    Status.NOOP: "noop",
    Status.MISSING: "no",
}
STYLES = {"yes": "green", WORKS: "green", "emul": "yellow", "noop": "yellow", "no": "red", LOOK: "bold red"}
LEGEND = (
    "yes: served by the device's own; emul: emulated by morph; noop: does nothing; no: missing; "
    "look: to look at, see below"
)
LINE_WIDTH, WORD_WIDTH, WIDEST_USE = 6, 5, 36


def print_report(report: Report) -> None:
    """Print a report on standard output."""
    screen = console()
    for file, findings in itertools.groupby(report.findings, lambda finding: finding.file):
        screen.print(f"[bold]{escaped(str(file))}[/]", soft_wrap=True)
        screen.print(_table(list(findings), report, screen))
    if len(report.backends) > 1 and report.findings:
        screen.print(f"\n{LEGEND}")
    _print_what_to_look_at(report, screen)
    screen.print(f"\n{summary(report)}")


def summary(report: Report) -> str:
    """Return the report in one line."""
    looked = [finding for finding in report.findings if finding.look]
    differing = [finding for finding in report.findings if finding.differs and not finding.look]
    files = {finding.file for finding in report.findings}
    uses = counted(len(report.findings), "use")
    parts = [
        f"{uses} of CUDA in {len(files)} of {counted(report.files, 'file')}",
        f"{len(differing)} with differences",
        f"{len(looked)} to look at",
    ]
    parts += [f"{counted(len(report.unparsed), 'file')} not read"] if report.unparsed else []
    return ", ".join(parts)


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
        return LOOK if answer.look else WORKS
    return WORDS[answer.status]


def _print_what_to_look_at(report: Report, screen: Console) -> None:
    found = [finding for finding in report.findings if finding.look]
    if found or report.unparsed:
        screen.print("\n[bold]to look at[/]")
    for finding in found:
        for text in _said(finding):
            _print_line(f"{escaped(str(finding.file))}:{finding.use.place.line}: {text}", screen)
    for name in dict.fromkeys(finding.use.rule for finding in found if finding.use.rule):
        screen.print(Padding(escaped(f"{name}: {rules()[name].remedy}"), (0, 0, 0, 2), expand=False))
    for each in report.unparsed:
        _print_line(f"{escaped(str(each.file))}:{each.line}: {escaped(each.message)}", screen)


def _print_line(text: str, screen: Console) -> None:
    """Print a text: one line for another program, wrapped for a person."""
    screen.print(text, soft_wrap=not screen.is_terminal)


def _said(finding: Finding) -> Iterator[str]:
    """Yield the remarks on a use; backends that lack it for the same reason share one."""
    name, rule = escaped(finding.use.name), finding.use.rule
    reasons: dict[str, list[str]] = {}
    for backend, answer in finding.answers.items():
        if answer.look:
            reasons.setdefault(answer.note, []).append(backend)
    for reason, backends in reasons.items():
        if rule:
            yield f"{name}: {escaped(reason)} ({rule})"
        else:
            yield f"{name} is missing on {', '.join(backends)}: {escaped(reason)}"

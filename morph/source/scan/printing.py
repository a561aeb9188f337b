"""A report as text: a summary, then what is to look at and what differs, by their causes."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from morph.base.display import console, counted, printable, wrapped
from morph.source.scan.causes import Cause, causes
from morph.source.scan.listing import print_uses
from morph.source.scan.report import DIFFERENT, Report
from morph.source.scan.summary import print_summary, sentence

WIDTH = 80  # columns, without a terminal
FILES, DIFFERENCES, LEFT_OUT = 3, 8, 5
"""The most that are shown of a cause's files, of differences, and of what is left out."""


def print_report(report: Report, everything: bool = False) -> None:
    """Print a report on standard output.

    Args:
        report: The report.
        everything: Whether to print every place, every difference, and every use.
    """
    screen = console()
    if not screen.is_terminal:
        screen.width = WIDTH
    found = causes(report)
    print_summary(report, found, screen)
    looked = [each for each in found if each.look]
    _Printer(screen, report, everything).print("to look at", looked)
    differing = [each for each in found if not each.look]
    shown = differing if everything else differing[:DIFFERENCES]
    _Printer(screen, report, everything).print("works, with differences", shown)
    if len(shown) < len(differing):
        screen.print(f"and {counted(len(differing) - len(shown), 'more difference')}")
    if everything and report.findings:
        screen.print("\n[bold]every use[/]\n")
        print_uses(report, screen)
    _print_unread(report, screen)
    if not (found or everything or report.unparsed or report.left_out):
        return
    end = "" if everything or not report.findings else "; --all shows every use and place"
    screen.print("\n" + wrapped(sentence(report, found) + end, screen.width), soft_wrap=True, markup=False)


class _Printer:
    """Prints causes; what is the same for several of them is said with the first.

    Args:
        screen: Where to.
        report: The report that they are of.
        everything: Whether to print every place.
    """

    def __init__(self, screen: Console, report: Report, everything: bool) -> None:
        self._screen, self._report, self._everything = screen, report, everything
        self._said: dict[str, str] = {}

    def print(self, title: str, causes: Sequence[Cause]) -> None:
        """Print causes below a title."""
        if causes:
            self._line(f"\n{title}", "bold")
        for cause in causes:
            self._print_cause(cause)

    def _print_cause(self, cause: Cause) -> None:
        rule = f" ({cause.rule})" if cause.rule not in (cause.title, DIFFERENT) else ""
        count = f"{counted(len(cause.findings), 'place')} in {counted(len(cause.lines), 'file')}"
        self._line(f"\n{printable(cause.title)}{rule}: {count}", "bold")
        self._once(cause.says, cause)
        self._print_notes(cause)
        self._once(f"do: {cause.remedy}" if cause.remedy else "", cause)
        self._print_places(cause)

    def _print_notes(self, cause: Cause) -> None:
        notes = [self._note(backends, note, cause) for note, backends in cause.notes.items()]
        before = self._said.setdefault("\n".join(notes), cause.title)
        if len(notes) > 1 and before != cause.title:
            notes = [f"on each backend as for {before}"]
        for note in notes:
            self._indented(note)

    def _note(self, backends: Sequence[str], note: str, cause: Cause) -> str:
        is_all = len(backends) == len(self._report.backends)
        where = "every backend" if is_all and len(backends) > 1 else ", ".join(backends)
        return f"{where}: {note}" if note != cause.says else f"on {where}"

    def _once(self, text: str, cause: Cause) -> None:
        if text and self._said.setdefault(text, cause.title) == cause.title:
            self._indented(text)

    def _print_places(self, cause: Cause) -> None:
        files = list(cause.lines.items())
        shown = files if self._everything else files[: FILES if cause.look else 1]
        for file, lines in shown:
            self._print_place(str(file), [str(line) for line in lines])
        if len(shown) < len(files):
            self._line(f"    and in {counted(len(files) - len(shown), 'more file')}")

    def _print_place(self, file: str, lines: list[str]) -> None:
        """Print the lines of a file, unless asked for all as many as fit."""
        shown = f"    {printable(file)}:{lines[0]}"
        room = self._screen.width - len(" and 1000 more")
        for number, line in enumerate(lines[1:], 1):
            if not self._everything and len(shown) + 2 + len(line) > room:
                shown += f" and {len(lines) - number} more"
                break
            shown += f", {line}"
        self._line(shown)

    def _indented(self, text: str) -> None:
        self._line(wrapped(text, self._screen.width, "  ", "    "))

    def _line(self, text: str, style: str = "") -> None:
        self._screen.print(text, style=style, soft_wrap=True, markup=False)


def _print_unread(report: Report, screen: Console) -> None:
    if report.unparsed:
        screen.print("\n[bold]not read[/]\n")
    for each in report.unparsed:
        text = f"{printable(str(each.file))}:{each.line}: {printable(each.message)}"
        screen.print(text, soft_wrap=True, markup=False)
    if report.left_out:
        names = ", ".join(printable(str(each)) for each in report.left_out[:LEFT_OUT])
        more = len(report.left_out) - LEFT_OUT
        text = f"left out: {names}{f' and {more} more' if more > 0 else ''}"
        screen.print("\n" + wrapped(text, screen.width, "", "  "), soft_wrap=True, markup=False)

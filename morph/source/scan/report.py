"""The findings of a scan in files."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass

from morph.source.scan.rules import rules
from morph.source.scan.statuses import Answers
from morph.source.scan.uses import Use

MISSING = "missing-name"
DIFFERENT = "different-name"
"""The rules of the findings that a table makes."""
UNPARSED = "unparsed"


@dataclass(frozen=True, slots=True)
class Finding:
    """A use in a file, with how each backend serves it.

    Attributes:
        file: The file.
        use: The use.
        answers: By the name of the backend.
    """

    file: pathlib.Path
    use: Use
    answers: Answers

    @property
    def look(self) -> bool:
        """Whether it needs a person's attention on any of the backends."""
        return self.answers.look

    @property
    def remedy(self) -> str:
        """The remedy; empty where nothing has to be done, or the note contains it."""
        return rules()[self.use.rule].remedy if self.use.rule else ""

    @property
    def differs(self) -> bool:
        """Whether a backend emulates it, does nothing, lacks it, or does otherwise than CUDA."""
        return self.answers.differs

    @property
    def rule(self) -> str:
        """The rule that found it; empty where it works everywhere as on CUDA."""
        if self.use.rule:
            return self.use.rule
        return MISSING if self.look else DIFFERENT if self.differs else ""


@dataclass(frozen=True, slots=True)
class Unparsed:
    """A file that could not be read as Python.

    Attributes:
        file: The file.
        line: The line of the error.
        message: The error.
    """

    file: pathlib.Path
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a scan.

    Attributes:
        backends: The backends' names, in the order of the tables' choice.
        files: The number of files read.
        findings: In the order of files and lines.
        unparsed: The files that could not be read as Python.
        ignored: The number of findings that the user does not want to see.
        left_out: The files and folders that were not read because the user, or a convention, says so.
    """

    backends: tuple[str, ...]
    files: int
    findings: tuple[Finding, ...]
    unparsed: tuple[Unparsed, ...]
    ignored: int = 0
    left_out: tuple[pathlib.Path, ...] = ()

    @property
    def look(self) -> bool:
        """Whether anything needs a person's attention, or a backend lacks a name."""
        return bool(self.unparsed) or any(each.look for each in self.findings)

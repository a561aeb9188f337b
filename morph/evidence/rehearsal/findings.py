"""The result of a rehearsal: each name with its status on the vendor's device, and the verdict."""

from __future__ import annotations

import enum
import pathlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from morph.backends.tables import interfaces
from morph.backends.tables.table import Status, Table
from morph.evidence.rehearsal.recording import Ending, Use

DID_NOT_START = Ending("NotSimulatedError", "the simulated device did not start")


class Verdict(enum.Enum):
    """The expected outcome of the program on the real device."""

    RUNS = "would run"
    DIFFERS = "would run with differences"
    STOPS = "would stop"
    UNKNOWN = "unknown"

    @property
    def is_good(self) -> bool:
        """Whether the program would run to its end."""
        return self in (Verdict.RUNS, Verdict.DIFFERS)


@dataclass(frozen=True, slots=True)
class Finding:
    """One CUDA name that the program asked for.

    Attributes:
        use: Where and how often.
        status: How the vendor's backend serves it.
        note: The reason or the difference, in one clause.
        is_module: Whether it is a module, whose names are what counts.
    """

    use: Use
    status: Status
    note: str
    is_module: bool = False

    @property
    def differs(self) -> bool:
        """Whether the program gets another result than with CUDA."""
        if self.is_module:
            return self.status is Status.MISSING
        return self.status in (Status.EMULATED, Status.NOOP, Status.MISSING)


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a rehearsal on one vendor's device.

    Attributes:
        backend: The backend's name.
        title: The vendor's name for people.
        findings: The names, in alphabetical order.
        operators: How often each operator reached the device under CUDA's name, below Python.
        processes: The number of processes of the program that used torch.
        ending: The exception or exit status that ended the first of them, if any.
    """

    backend: str
    title: str
    findings: tuple[Finding, ...]
    operators: Mapping[str, int]
    processes: int
    ending: Ending | None

    @property
    def verdict(self) -> Verdict:
        """The expected outcome on the real device."""
        if self.ending is not None:
            return Verdict.UNKNOWN if self.ending.error == "NotSimulatedError" else Verdict.STOPS
        return Verdict.DIFFERS if any(each.differs for each in self.findings) else Verdict.RUNS

    @property
    def said(self) -> str:
        """The verdict in one line."""
        return f"on {self.title} it {_SENTENCES[self.verdict](self)}"

    def as_json(self) -> dict[str, Any]:
        """Return the content that ``--json`` writes."""
        names = [
            {**asdict(each.use), "status": each.status.value, "note": each.note} for each in self.findings
        ]
        return {
            "backend": self.backend,
            "title": self.title,
            "verdict": self.verdict.value,
            "said": self.said,
            "ending": asdict(self.ending) if self.ending else None,
            "names": names,
            "operators": dict(sorted(self.operators.items())),
            "processes": self.processes,
        }


def result(table: Table, records: Iterable[Mapping[str, Any]], ending: Ending | None) -> Result:
    """Combine the records of a program's processes.

    Args:
        table: The vendor's alias table.
        records: The records of the processes, the first process's first.
        ending: The exception or exit status that ended the first process, if any.

    Returns:
        The result. If a launcher ends with an exit status because a process that it started failed, the
        ending of that process counts.
    """
    processes = list(records)
    uses: dict[str, Use] = {}
    operators: Counter[str] = Counter()
    for each in processes:
        _add_uses(uses, each["uses"])
        operators.update(each["operators"])
    endings = [Ending(**each["ending"]) for each in processes if each["ending"]]
    findings = (_finding(table, uses[name]) for name in sorted(uses))
    facts = table.facts
    decisive = _decisive(ending, endings) if processes else DID_NOT_START
    return Result(facts.name, facts.title, tuple(findings), operators, len(processes), decisive)


def _add_uses(uses: dict[str, Use], more: Iterable[Mapping[str, Any]]) -> None:
    for each in more:
        use = uses.setdefault(each["name"], Use(each["name"], 0, each["file"], each["line"]))
        use.count += each["count"]


def _finding(table: Table, use: Use) -> Finding:
    interface = interfaces.of(use.name)
    row = interface.decide(table, use.name)
    return Finding(use, row.status, row.note, use.name in interface.modules)


def _decisive(ending: Ending | None, others: list[Ending]) -> Ending | None:
    """Return the ending of the program: the error of a child, if a launcher ends because of it."""
    causes = (each for each in others if each.error != "SystemExit")
    return next(causes, ending) if ending and ending.error == "SystemExit" else ending


def _stops(result: Result) -> str:
    assert result.ending is not None
    cause = f"{result.ending.error}: {result.ending.message}".removesuffix(": ")
    if result.ending.error == "SystemExit":
        cause = f"exit status {result.ending.message}"
    return f"would stop{_place(result.ending)}: {cause}"


def _is_unknown(result: Result) -> str:
    assert result.ending is not None
    return f"is not known to run: the rehearsal ended{_place(result.ending)}: {result.ending.message}"


def _differs(result: Result) -> str:
    differing = [each for each in result.findings if each.differs]
    absent = [each.use.name for each in differing if each.status is Status.MISSING]
    others = [each.use.name for each in differing if each.status is not Status.MISSING]
    parts = [f"with differences in {', '.join(others)}"] if others else []
    parts += [f"without {', '.join(absent)}"] if absent else []
    return f"would run, {', and '.join(parts)}"


def _place(ending: Ending) -> str:
    return f" at {short(ending.file)}:{ending.line}" if ending.file else ""


def short(file: str) -> str:
    """Return a file's path relative to the current folder, or its bare name."""
    path, here = pathlib.Path(file), pathlib.Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else path.name


_SENTENCES = {
    Verdict.RUNS: lambda result: "would run",
    Verdict.DIFFERS: _differs,
    Verdict.STOPS: _stops,
    Verdict.UNKNOWN: _is_unknown,
}

"""``--query-gpu`` and ``--query-compute-apps``: a line of CSV for each device or process."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from morph.base import toml
from morph.kernels.nvidia_smi.readings import Subject, Value
from morph.kernels.nvidia_smi.refusal import HELP, INVALID, Refusal


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a query.

    Attributes:
        name: Its name in a header.
        reading: The name of its reading; empty if there is none.
        unit: Its unit; empty if it has none.
        alias: Another name of it.
    """

    name: str
    reading: str = ""
    unit: str = ""
    alias: str = ""

    def text(self, subject: Subject, units: bool) -> str:
        """Return its value for a device."""
        value = subject.read(self.reading)
        if value is None:
            return "[N/A]"
        return f"{written(value)} {self.unit}" if units and self.unit else written(value)


@dataclass(frozen=True, slots=True)
class Format:
    """What ``--format`` asks for."""

    header: bool = True
    units: bool = True

    @classmethod
    def of(cls, text: str | None) -> Format:
        """Read ``"csv,noheader,nounits"``.

        Raises:
            Refusal: If it is something else.
        """
        if text is None:
            raise Refusal(f'"--format=" switch is missing. {HELP}', INVALID)
        words = [word.strip() for word in text.split(",")]
        for word in words:
            if word not in ("csv", "noheader", "nounits"):
                raise Refusal(f'"{word}" is not a valid format. {HELP}', INVALID)
        if "csv" not in words:
            raise Refusal(f'"csv" is missing in "--format=". {HELP}', INVALID)
        return cls("noheader" not in words, "nounits" not in words)


@functools.cache
def known(kind: str) -> dict[str, Field]:
    """Return the fields of ``"gpu"`` or ``"compute-apps"`` by their names and aliases."""
    rows = toml.expanded(toml.beside(__file__, "fields.toml")[kind])
    fields = [Field(name, **facts) for name, facts in rows]
    return {name: field for field in fields for name in (field.name, field.alias) if name}


def asked(kind: str, text: str) -> list[Field]:
    """Return the fields that a query names.

    Raises:
        Refusal: If there is no such field.
    """
    fields = known(kind)
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in fields:
            raise Refusal(f'Field "{name}" is not a valid field to query.\n', INVALID)
    return [fields[name] for name in names]


def header(fields: Sequence[Field]) -> str:
    """Return the first line."""
    return ", ".join(f"{field.name} [{field.unit}]" if field.unit else field.name for field in fields)


def lines(fields: Sequence[Field], subjects: Iterable[Subject], units: bool) -> Iterator[str]:
    """Return a line for each device or process."""
    for subject in subjects:
        yield ", ".join(field.text(subject, units) for field in fields)


def processes(subjects: Iterable[Subject]) -> list[Subject]:
    """Return a subject for each process of the devices."""
    return [
        dataclasses.replace(subject, process=process)
        for subject in subjects
        for process in subject.processes() or ()
    ]


def help_of(kind: str) -> Iterator[str]:
    """Return the lines of ``--help-query-gpu`` and its kin."""
    yield f'List of valid properties to query for the switch "--query-{kind}=":'
    for field in dict.fromkeys(known(kind).values()):
        names = " or ".join(f'"{name}"' for name in (field.name, field.alias) if name)
        unit = f" In {field.unit}." if field.unit else ""
        origin = "Read from the device." if field.reading else "N/A on every backend of morph."
        yield f"\n{names}\n{origin}{unit}"


def written(value: Value) -> str:
    """Return a value as text: watts with two decimals."""
    return f"{value:.2f}" if isinstance(value, float) else str(value)

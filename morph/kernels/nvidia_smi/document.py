"""``-q``: everything about the devices, as text and as XML."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from morph.aliases.sensors.origin import Source
from morph.base import toml
from morph.kernels.nvidia_smi.queries import written
from morph.kernels.nvidia_smi.readings import Subject, driver_version, runtime_version

_WIDTH = 38  # of a label of the outermost level


class Entry(NamedTuple):
    """A line, or a section with lines.

    Attributes:
        label: What the text calls it.
        tag: What the XML calls it.
        content: Its value, or its entries.
        display: The word of ``-d`` that selects it.
    """

    label: str
    tag: str
    content: str | list[Entry]
    display: str = ""


def entries(subject: Subject) -> list[Entry]:
    """Return everything about a device."""
    return [*(_entry(subject, *row) for row in _rows()["device"]), _processes(subject)]


@functools.cache
def _rows() -> dict[str, Any]:
    return toml.beside(__file__, "document.toml")


def _entry(subject: Subject, label: str, tag: str, content: Any, display: str = "") -> Entry:
    if isinstance(content, list):
        return Entry(label, tag, [_entry(subject, *row) for row in content], display)
    if content.startswith("="):
        return Entry(label, tag, content[1:], display)
    reading, _, unit = content.partition(" ")
    value = subject.read(reading)
    return Entry(label, tag, "N/A" if value is None else f"{written(value)} {unit}".rstrip(), display)


def _processes(subject: Subject) -> Entry:
    found = subject.processes()
    if found is None:
        return Entry("Processes", "processes", "N/A", "PIDS")
    owners = [dataclasses.replace(subject, process=process) for process in found]
    lines = [[_entry(owner, *row) for row in _rows()["process"]] for owner in owners]
    content = [Entry("Process", "process_info", each) for each in lines]
    return Entry("Processes", "processes", content or "None", "PIDS")


def _head(source: Source, attached: int) -> list[Entry]:
    return [
        Entry("Timestamp", "timestamp", time.strftime("%a %b %e %H:%M:%S %Y")),
        Entry("Driver Version", "driver_version", driver_version(source)),
        Entry("CUDA Version", "cuda_version", runtime_version(source) or "N/A"),
        Entry("Attached GPUs", "attached_gpus", str(attached)),
    ]


def as_text(source: Source, subjects: Sequence[Subject], attached: int, display: str = "") -> Iterator[str]:
    """Return the lines of ``-q``, or of the sections that ``-d`` names."""
    wanted = {word.strip().upper() for word in display.split(",") if word.strip()}
    yield "\n==============NVSMI LOG==============\n"
    *head, count = _head(source, attached)
    yield from _lines(head, 0)
    yield ""
    yield from _lines([count], 0)
    for subject in subjects:
        yield f"GPU {subject.read('pci_bus_id') or subject.index}"
        chosen = [each for each in entries(subject) if not wanted or each.display in wanted]
        yield from _lines(chosen, 1)
        yield ""


def as_xml(source: Source, subjects: Sequence[Subject], attached: int) -> Iterator[str]:
    """Return the lines of ``-q -x``."""
    yield '<?xml version="1.0" ?>'
    yield '<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">'
    yield "<nvidia_smi_log>"
    yield from _elements(_head(source, attached), 1)
    for subject in subjects:
        yield f'\t<gpu id="{subject.read("pci_bus_id") or subject.index}">'
        yield from _elements(entries(subject), 2)
        yield "\t</gpu>"
    yield "</nvidia_smi_log>"


def _lines(content: Sequence[Entry], level: int) -> Iterator[str]:
    for entry in content:
        label = " " * 4 * level + entry.label
        if isinstance(entry.content, str):
            yield f"{label:<{_WIDTH + 4}}: {entry.content}"
        else:
            yield label
            yield from _lines(entry.content, level + 1)


def _elements(content: Sequence[Entry], level: int) -> Iterator[str]:
    for entry in content:
        indent = "\t" * level
        if isinstance(entry.content, str):
            text = "" if (entry.tag, entry.content) == ("processes", "None") else _escaped(entry.content)
            yield f"{indent}<{entry.tag}>{text}</{entry.tag}>"
        else:
            yield f"{indent}<{entry.tag}>"
            yield from _elements(entry.content, level + 1)
            yield f"{indent}</{entry.tag}>"


def _escaped(text: str) -> str:
    for sign, name in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):  # xml.sax imports urllib, which is slow
        text = text.replace(sign, name)
    return text

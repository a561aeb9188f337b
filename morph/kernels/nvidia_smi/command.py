"""The program ``nvidia-smi``."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import morph
from morph.aliases.sensors.origin import Source
from morph.base.errors import MorphError
from morph.kernels.nvidia_smi import links, queries
from morph.kernels.nvidia_smi.arguments import Arguments
from morph.kernels.nvidia_smi.machine import Description, opened
from morph.kernels.nvidia_smi.readings import Subject, runtime_version, subjects
from morph.kernels.nvidia_smi.refusal import HELP, INVALID, NO_DRIVER, NOT_FOUND, UNSUPPORTED, Refusal

_LISTED = {"-lgi", "--list-gpu-instances", "-lci", "--list-compute-instances"}
USAGE = """\
nvidia-smi, served by morph: reads the devices that CUDA means here

    nvidia-smi                          a screen
    -L, --list-gpus                     the devices and their UUIDs
    -q, --query [-x] [-d SECTIONS]      everything, as text or as XML
    --query-gpu=FIELDS --format=csv[,noheader][,nounits]
    --query-compute-apps=FIELDS --format=csv[,noheader][,nounits]
    --help-query-gpu, --help-query-compute-apps
    topo -m                             how the devices are connected
    topo -p2p r|w|n|a                   whether they reach each other's memory: reads, writes, NVLink, atomics
    nvlink -s                           the links of devices that have NVLink, and their speed
    mig -lgi, mig -lci                  the instances of divided devices: none

    -i, --id=IDS                        only these: indices, UUIDs, PCI addresses or serial numbers
    -l, --loop=SECONDS; -lms, --loop-ms=MILLISECONDS
    -f, --filename=FILE                 write to a file"""


def main(words: Sequence[str]) -> int:
    """Run nvidia-smi, and return its exit status."""
    try:
        return _run(Arguments.parse(words))
    except Refusal as refusal:
        print(refusal)
        return refusal.status
    except MorphError as error:
        print(f"NVIDIA-SMI has failed because morph cannot read the devices: {error}")
        return NO_DRIVER
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130


def _run(arguments: Arguments) -> int:
    if "help" in arguments.flags:
        print(USAGE)
        return 0
    for kind in ("gpu", "compute-apps"):
        if f"help-{kind}" in arguments.flags:
            print("\n".join(queries.help_of(kind)))
            return 0
    _check(arguments)
    source = opened(Description.inherited())
    _chosen(subjects(source), arguments.values.get("id"))  # before a file is opened
    with _output(arguments.values.get("filename")):
        for first in _repeated(arguments.interval):
            chosen = _chosen(subjects(source), arguments.values.get("id"))
            for line in _answer(arguments, source, chosen, first):
                print(line)
            sys.stdout.flush()
    return 0


def _check(arguments: Arguments) -> None:
    """Reject what no device has to be read for."""
    kinds = [kind for kind in ("gpu", "compute-apps") if kind in arguments.values]
    if len(kinds) > 1:
        raise Refusal("Only one --query-* switch can be used at a time.", INVALID)
    for kind in kinds:
        queries.asked(kind, arguments.values[kind])
        queries.Format.of(arguments.values.get("format"))
    if not kinds and "format" in arguments.values:
        raise Refusal(f"Invalid combination of input arguments. {HELP}", INVALID)
    if arguments.command == "nvlink" and not arguments.flags <= links.STATUS:
        raise Refusal("nvlink is served with -s only: morph has no other fact of a link", UNSUPPORTED)
    if arguments.command == "mig":
        raise _instances(arguments.flags)
    if arguments.command == "topo" and not (
        arguments.flags <= links.MATRIX or frozenset(arguments.flags) in links.PEERS
    ):
        raise Refusal("topo is served with -m and -p2p r, w, n or a: morph has no other fact", UNSUPPORTED)
    for flag in {"units", "dtd"} & arguments.flags:
        raise Refusal(f"--{flag} is not supported: morph reads devices only", UNSUPPORTED)


def _instances(flags: set[str]) -> Refusal:
    """Return what ``mig`` says: that no device is divided, or for other options that none can be."""
    if flags and flags <= _LISTED:
        return Refusal("No MIG-enabled devices found.", NOT_FOUND)
    return Refusal("mig is served with -lgi and -lci only: morph divides no device", UNSUPPORTED)


def _answer(arguments: Arguments, source: Source, chosen: list[Subject], first: bool) -> Iterator[str]:
    flags, values = arguments.flags, arguments.values
    for kind, select in _QUERIES.items():
        if kind in values:
            form, fields = queries.Format.of(values["format"]), queries.asked(kind, values[kind])
            if form.header and first:
                yield queries.header(fields)
            yield from queries.lines(fields, select(chosen), form.units)
            return
    if arguments.command == "topo":
        access = links.PEERS.get(frozenset(flags))
        yield from links.peers(chosen, access) if access else links.topology(chosen)
    elif arguments.command == "nvlink":
        yield from links.status(chosen)
    elif "list" in flags:
        yield from (f"GPU {each.index}: {each.read('name')} (UUID: {each.read('uuid')})" for each in chosen)
    elif "excluded" in flags:
        yield "No excluded devices found"
    elif "version" in flags:
        yield f"NVIDIA-SMI version  : morph {morph.__version__}"
        yield f"DRIVER version      : {chosen[0].read('driver_version')}"
        yield f"CUDA Version        : {runtime_version(source)}"
    elif "xml" in flags:
        from morph.kernels.nvidia_smi import document

        yield from document.as_xml(source, chosen, len(source.devices()))
    elif "query" in flags:
        from morph.kernels.nvidia_smi import document

        yield from document.as_text(source, chosen, len(source.devices()), values.get("display", ""))
    else:
        from morph.kernels.nvidia_smi import screen

        yield from screen.lines(source, chosen)


_QUERIES: dict[str, Callable[[list[Subject]], list[Subject]]] = {
    "gpu": list,
    "compute-apps": queries.processes,
}


def _chosen(found: list[Subject], ids: str | None) -> list[Subject]:
    """Return the devices that ``-i`` names.

    Raises:
        Refusal: If there is no such device, or none at all.
    """
    if ids is None:
        if not found:
            raise Refusal("No devices were found", NOT_FOUND)
        return found
    wanted = [word.strip() for word in ids.split(",")]
    chosen = [each for each in found if any(_is(each, word) for word in wanted)]
    if not chosen or len(chosen) < len(set(wanted)):
        raise Refusal("No devices were found", NOT_FOUND)
    return chosen


def _is(subject: Subject, word: str) -> bool:
    place = str(subject.read("pci_bus_id")).lower()
    return word in (str(subject.index), subject.read("uuid"), subject.read("serial")) or (
        ":" in word and place.endswith(word.lower()) and place.removesuffix(word.lower()).strip("0") == ""
    )


def _repeated(interval: float | None) -> Iterator[bool]:
    """Yield True, and then False at every interval."""
    yield True
    while interval is not None:
        time.sleep(interval)
        yield False


@contextlib.contextmanager
def _output(filename: str | None) -> Iterator[None]:
    if filename is None:
        yield
        return
    with open(filename, "w", encoding="utf-8") as file, contextlib.redirect_stdout(file):
        yield

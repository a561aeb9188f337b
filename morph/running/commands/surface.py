"""``morph surface``: record and compare surfaces."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import json
import pathlib

from morph.backends.tables import surfaces
from morph.backends.tables.surfaces import Surface, UnknownSurfaceError
from morph.base.announcement import report
from morph.evidence.surfaces.comparison import Comparison, compare
from morph.evidence.surfaces.subjects import recorded

DIFFERENT = 1

EXAMPLE = "surface compare torch_npu-2.13.0 installed.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    recording = actions.add_parser(
        "record",
        help="record the names of an installed package",
        description="Record the public names of a vendor's installed package, or of a module of torch's own, "
        "which is imported. Without --output the recording is printed.",
    )
    recording.add_argument("what", metavar="NAME", help="a package (torch_npu) or a module (torch.cuda)")
    recording.add_argument("--module", action="append", help="record this module; can be repeated")
    recording.add_argument("--output", metavar="FILE", help="write the recording to FILE")
    recording.set_defaults(action=_record)
    comparing = actions.add_parser(
        "compare",
        help="show the names that one surface adds, removes or changes against another",
        description="Show the names that NEW adds, removes or changes against OLD. "
        f"The exit status is {DIFFERENT} if they differ, 0 if not.",
    )
    comparing.add_argument("old", metavar="OLD", help="a recorded surface (torch_npu-2.13.0), or a file")
    comparing.add_argument("new", metavar="NEW", help="another one, or an installed package (torch_npu)")
    comparing.add_argument("--json", action="store_true", help="print JSON instead of text")
    comparing.set_defaults(action=_compare)


def run(arguments: argparse.Namespace) -> int:
    """Run the requested action, and return the exit status."""
    status: int = arguments.action(arguments)
    return status


def _record(arguments: argparse.Namespace) -> int:
    text = surfaces.dumps(recorded(arguments.what, report, arguments.module or ()))
    if arguments.output:
        pathlib.Path(arguments.output).write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


def _compare(arguments: argparse.Namespace) -> int:
    found = compare(_surface(arguments.old), _surface(arguments.new))
    print(json.dumps(dataclasses.asdict(found), indent=1) if arguments.json else _told(found))
    return DIFFERENT if found.differs else 0


def _surface(name: str) -> Surface:
    try:
        return surfaces.find(name)
    except UnknownSurfaceError:
        if importlib.util.find_spec(name.partition(".")[0]) is None:
            raise

    return recorded(name, report)


def _told(found: Comparison) -> str:
    lines = [
        f"{found.new} against {found.old}: {len(found.added)} added, {len(found.removed)} removed, "
        f"{len(found.changed)} changed"
    ]
    lines += [f"+ {name}" for name in found.added]
    lines += [f"- {name}" for name in found.removed]
    for name, (before, after) in found.changed.items():
        lines += [f"~ {name}", f"    {before}", f"    {after}"]
    return "\n".join(lines)

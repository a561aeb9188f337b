"""The report of ``--fit``: whether a program's processes fit in the devices' memory, phase by phase."""

from __future__ import annotations

import atexit
import json
import os
import pathlib
import shutil
import sys
import tempfile
from typing import Any

from rich.console import Console

from morph.base import display, private
from morph.base.variables import FIT_RECORDS

UNITS = {"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10}
LEFT_OUT = "CUDA's own context, and the workspaces of libraries other than cuBLAS, are left out."


def collect(file: str | None) -> None:
    """Have the processes of a program leave their records, and report on all when this one ends.

    Args:
        file: For the report as JSON too, ``"-"`` for standard output; None for none.
    """
    if FIT_RECORDS not in os.environ:
        folder = tempfile.mkdtemp(prefix="morph-fit-", dir=private.temporary_place())
        os.environ[FIT_RECORDS] = folder
        place = (
            file if file in (None, "-") else os.path.abspath(str(file))
        )  # the program may change its folder
        atexit.register(_tell, pathlib.Path(folder), place, os.getpid())


def save(record: dict[str, Any]) -> None:
    """Leave the record of a process where they are collected; else report on it alone."""
    folder = pathlib.Path(os.environ.get(FIT_RECORDS, ""))
    if FIT_RECORDS in os.environ and folder.is_dir():
        (folder / f"{record['process']}.json").write_text(json.dumps(record), encoding="utf-8")
    else:
        _print([record])


def _tell(folder: pathlib.Path, file: str | None, process: int) -> None:
    if os.getpid() != process:  # a fork that ended by running this process's code
        return
    paths = sorted(folder.glob("*.json"), key=lambda path: int(path.stem))
    records = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    shutil.rmtree(folder, ignore_errors=True)
    if records:  # else no device was started, and that was told
        _print(records)
    if file is not None:
        display.write_json(file, {"fits": _all(records), "processes": records})


def fits(record: dict[str, Any], device: dict[str, Any]) -> bool | None:
    """Return whether a process fits on a device; None if it ended early, or not by a refusal."""
    refused = record["refused"]
    if refused and refused["device"] == device["device"]:
        return False if record["out_of_memory"] else None
    return None if record["error"] else True


def _all(records: list[dict[str, Any]]) -> bool | None:
    """Return whether all fit; None if that is not known of each."""
    found = {fits(record, device) for record in records for device in record["devices"]}
    return False if False in found else True if found == {True} else None


def _print(records: list[dict[str, Any]]) -> None:
    console = display.console(sys.stderr)
    for record in records:
        for device in record["devices"]:
            _print_device(record, device, console)
    is_empty = not any(record["devices"] for record in records)
    _say(console, "the program took no memory of a device." if is_empty else LEFT_OUT)


def _print_device(record: dict[str, Any], device: dict[str, Any], console: Console) -> None:
    shown = display.columns("phase", "allocated", "reserved")
    for phase, level in device["phases"].items():
        if any(level.values()):
            shown.add_row(phase, _amount(level["allocated"]), _amount(level["reserved"]))
    if shown.row_count:
        console.print(shown)
        _print_holders(device, console)
    style = {True: "bold green", False: "bold red", None: "bold yellow"}[fits(record, device)]
    _say(console, f"{device['device']} of process {record['process']} {_verdict(record, device)}", style)


def _print_holders(device: dict[str, Any], console: Console) -> None:
    at = device["at"]
    _say(console, f"the most was allocated in step {at['step']} ({at['phase']}), by")
    for each in device["lines"]:
        blocks = display.counted(each["blocks"], "block")
        _say(console, f"  {_amount(each['bytes']):>10}  {display.printable(each['line'])}, {blocks}")


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(text, style=style, soft_wrap=True, markup=False)


def _verdict(record: dict[str, Any], device: dict[str, Any]) -> str:
    usable, reserved = device["usable"], device["peak"]["reserved"]
    card = f" of the {record['card']}" if record["card"] else ""
    used = f"{_amount(reserved)} of {_amount(usable)}{card}, {100 * reserved // usable or 'under 1'} %"
    refused, answer = record["refused"], fits(record, device)
    if answer:
        return f"fits: {used}"
    if refused is None or refused["device"] != device["device"]:
        return f"fits until {record['error']} ended it: {used}"
    at = f"at {refused['line']} in step {refused['step']} ({refused['phase']})"
    more = f"{_amount(refused['bytes'])} more than {used}"
    if answer is None:
        return f"was refused memory, {display.counted(refused['count'], 'time')}, the last {at}: {more}"
    return f"does not fit: OutOfMemoryError {at}, which asked for {more}"


def _amount(size: int) -> str:
    for unit, one in UNITS.items():
        if size >= one:
            return f"{size / one:.2f} {unit}"
    return f"{size} bytes"

"""``--rehearse``: the program on a simulated device, then what it asked of CUDA and whether it would run."""

from __future__ import annotations

import atexit
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from morph import activation
from morph.launcher.command import Options
from morph.launcher.program import Program
from morph.rehearsal import Ending, Rehearsal, Result, records, result
from morph.rehearsal.printing import print_result, print_results
from morph.tables import table
from morph.variables import BACKEND, RECORDS, REHEARSE

Tell = Callable[[list[dict[str, Any]], Rehearsal], None]


def rehearsed(options: Options) -> AbstractContextManager[Rehearsal]:
    """Record what the program that runs inside the ``with`` block asks for; told when this process ends."""
    return recorded(functools.partial(_print, options))


@contextmanager
def recorded(tell: Tell) -> Iterator[Rehearsal]:
    """Record what the program that runs inside the ``with`` block asks for.

    A process that another recording has started leaves its record there, and tells nothing itself.

    Args:
        tell: Called with the records of all processes, and this process's recorder, when this process ends.
    """
    is_first = RECORDS not in os.environ
    if is_first:
        os.environ[RECORDS] = tempfile.mkdtemp(prefix="morph-rehearsal-")
    rehearsal = Rehearsal(pathlib.Path(os.environ[RECORDS]), operators)
    if is_first:
        atexit.register(_tell, tell, rehearsal, os.getpid())
    else:
        atexit.register(_save, rehearsal)
    try:
        yield rehearsal
    except BaseException as error:
        rehearsal.ended_by(error)
        raise


def observer() -> Rehearsal | None:
    """Return what records the names that a child process asks for; None where nothing is recorded."""
    folder = os.environ.get(RECORDS)
    if not folder or not os.path.isdir(folder):
        return None
    rehearsal = Rehearsal(pathlib.Path(folder), operators)
    atexit.register(_save, rehearsal)
    return rehearsal


def operators() -> dict[str, int]:
    """Return how often each operator reached the device under CUDA's name in this process."""
    return activation.status().caught or {}


def on_every_vendor(options: Options, program: Program) -> int:
    """Run the program once per vendor, each time in a process of its own, and print one column for each.

    Returns:
        0 if it would run on all of them, else 1.
    """
    names = [name for name in table.backend_names() if table.load(name).facts.surface]
    given = sys.stdin.buffer.read() if program.kind == "input" else None
    results = []
    for number, name in enumerate(names, 1):
        title = table.load(name).facts.title
        print(f"morph: rehearsing on {title}, {number} of {len(names)}", file=sys.stderr, flush=True)
        results.append(_on_vendor(name, options, program, given))
    print_results(results)
    if options.json:
        _write_json(options.json, {"backends": {each.backend: each.as_json() for each in results}})
    return 0 if all(each.verdict.is_good for each in results) else 1


def _on_vendor(name: str, options: Options, program: Program, given: bytes | None) -> Result:
    with tempfile.TemporaryDirectory(prefix="morph-rehearsal-") as folder:
        environment = {key: value for key, value in os.environ.items() if key not in (BACKEND, REHEARSE)}
        environment[RECORDS] = folder
        command = [sys.executable, "-m", "morph", "--rehearse", name, *options.words(), *program.words()]
        done = subprocess.run(command, env=environment, input=given, check=False)
        recorded = records(pathlib.Path(folder))
        status = Ending("SystemExit", str(done.returncode)) if done.returncode else None
        return result(table.load(name), recorded, status)


def _tell(tell: Tell, rehearsal: Rehearsal, process: int) -> None:
    if os.getpid() != process:  # a fork that ended as this process would
        return
    _save(rehearsal)
    folder = pathlib.Path(os.environ.pop(RECORDS))
    every = records(folder)
    shutil.rmtree(folder, ignore_errors=True)
    if every:
        tell(every, rehearsal)


def _print(options: Options, records: list[dict[str, Any]], rehearsal: Rehearsal) -> None:
    assert options.rehearse is not None
    found = result(table.load(options.rehearse), records, rehearsal.ending)
    print_result(found)
    if options.json:
        _write_json(options.json, found.as_json())


def _save(rehearsal: Rehearsal) -> None:
    if (
        "torch" not in sys.modules or activation.status().active
    ):  # else the device did not start, and said why
        rehearsal.save()


def _write_json(path: str, content: dict[str, Any]) -> None:
    text = json.dumps(content, indent=1) + "\n"
    if path == "-":
        sys.stdout.write(text)
    else:
        pathlib.Path(path).write_text(text, encoding="utf-8")

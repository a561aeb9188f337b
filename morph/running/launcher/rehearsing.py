"""``--rehearse``: runs the program on a simulated device, then reports its CUDA names and a verdict."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from contextlib import AbstractContextManager
from typing import Any

from morph import SWITCH
from morph.backends.tables import table
from morph.base import display, host, interpreter, private
from morph.base.announcement import report
from morph.base.errors import BuildError
from morph.base.variables import BACKEND, RECORDS, REHEARSE
from morph.evidence.rehearsal.findings import Result, result
from morph.evidence.rehearsal.printing import print_result, print_results
from morph.evidence.rehearsal.processes import recorded
from morph.evidence.rehearsal.recording import Ending, Rehearsal, records
from morph.running.launcher.options import Options
from morph.running.launcher.program import Program

PROBE = """
import sys
from morph.base import native
if not any(native.find(native.part(name)) for name in ("device", "boxed_device")):
    sys.exit("not built")
"""


def ensure_device() -> None:
    """Ensure that the simulated device is built or can be, before the program begins.

    Raises:
        BuildError: If there is neither a compiler nor a device that was built before.
    """
    try:
        host.compiler()
    except BuildError as error:
        if _is_not_built():
            needs = "the rehearsal itself needs a C++ compiler, once, to build its device"
            raise BuildError(str(error).replace("no C++ compiler", needs)) from None


def _is_not_built() -> bool:
    """Ask another process, since this one leaves the import of torch to the program."""
    environment = {**os.environ, SWITCH: "0", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    done = subprocess.run(interpreter.command("-c", PROBE), env=environment, capture_output=True, check=False)
    return done.returncode != 0 and done.stderr == b"not built\n"


def rehearsed(options: Options) -> AbstractContextManager[Rehearsal]:
    """Record the CUDA names used inside the ``with`` block, and print them when this process ends."""
    return recorded(functools.partial(_print, options))


def on_every_vendor(options: Options, program: Program) -> int:
    """Run the program once per vendor, each time in a new process, and print one column for each.

    Returns:
        0 if it would run on all of them, else 1.
    """
    names = [name for name in table.backend_names() if table.facts(name).surface]
    standard_input = sys.stdin.buffer.read() if program.kind == "input" else None
    results = []
    for number, name in enumerate(names, 1):
        title = table.facts(name).title
        report(f"rehearsing on {title}, {number} of {len(names)}")
        results.append(_on_vendor(name, options, program, standard_input))
    print_results(results)
    if options.json:
        display.write_json(options.json, {"backends": {each.backend: each.as_json() for each in results}})
    return 0 if all(each.verdict.is_good for each in results) else 1


def _on_vendor(name: str, options: Options, program: Program, given: bytes | None) -> Result:
    with private.scratch("morph-rehearsal-") as folder:
        environment = {key: value for key, value in os.environ.items() if key not in (BACKEND, REHEARSE)}
        environment[RECORDS] = str(folder)
        command = interpreter.launcher_command("--rehearse", name, *options.words(), *program.words())
        done = subprocess.run(command, env=environment, input=given, check=False)
        recorded = records(folder)
        status = Ending("SystemExit", str(done.returncode)) if done.returncode else None
        return result(table.load(name), recorded, status)


def _print(options: Options, records: list[dict[str, Any]], rehearsal: Rehearsal) -> None:
    assert options.rehearse is not None
    found = result(table.load(options.rehearse), records, rehearsal.ending)
    print_result(found)
    if options.json:
        display.write_json(options.json, found.as_json())

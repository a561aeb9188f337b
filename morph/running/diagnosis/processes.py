"""Processes that probe one thing each, without morph being active in them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

from morph import SWITCH
from morph.backends import autoload
from morph.base import interpreter
from morph.base.announcement import ANNOUNCED
from morph.running.diagnosis.probe import ANSWER
from morph.running.startup.children import SITE

TIMEOUT = 1800  # seconds; building the software device the first time takes minutes on few cores
PROGRESS = "morph: building ", "morph: waiting "


def ask(*arguments: str) -> dict[str, Any]:
    """Return the output of ``morph.running.diagnosis.probe``, or the last line of a process that fails."""
    done = run("-m", "morph.running.diagnosis.probe", *arguments)
    lines = [line for line in done.stdout.splitlines() if line.startswith(ANSWER)]
    if lines:
        found: dict[str, Any] = {"absence": None, **json.loads(lines[-1].removeprefix(ANSWER))}
        return found
    last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    return {"devices": 0, "absence": f"looking for it ended with: {last}"}


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments; it says nothing at start, and loads no vendor by itself.

    Lines about a long build are shown at once; the process is interrupted after ``TIMEOUT``.
    """
    command = interpreter.command(*words)
    with open(os.memfd_create("output"), "w+") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.PIPE, text=True, env=_environment()
        )
        with process, _interrupted_after(TIMEOUT, process):
            errors = "".join(map(_shown, process.stderr or ()))
        output.seek(0)
        return subprocess.CompletedProcess(command, process.returncode, output.read(), errors)


@contextlib.contextmanager
def _interrupted_after(seconds: float, process: subprocess.Popen[str]) -> Iterator[None]:
    watchdog = threading.Timer(seconds, process.send_signal, [signal.SIGINT])
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()


def _shown(line: str) -> str:
    if line.startswith(PROGRESS):
        print(line, end="", file=sys.stderr, flush=True)
    return line


def _environment() -> dict[str, str]:
    paths = [*os.environ.get("PYTHONPATH", "").split(os.pathsep), interpreter.ROOT]
    path = os.pathsep.join(path for path in paths if path not in ("", SITE))
    return {**os.environ, ANNOUNCED: "1", SWITCH: "0", autoload.VARIABLE: "0", "PYTHONPATH": path}

"""Processes that probe one thing each, without morph being active in them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from morph import SWITCH
from morph.announcement import ANNOUNCED
from morph.backends import autoload
from morph.diagnosis.probe import ANSWER
from morph.startup.children import SITE

TIMEOUT = 300  # seconds; the first time, building the seam takes about twenty of them


def ask(*arguments: str) -> dict[str, Any]:
    """Return the output of ``morph.diagnosis.probe``, or the last line of a process that fails."""
    done = run("-m", "morph.diagnosis.probe", *arguments)
    lines = [line for line in done.stdout.splitlines() if line.startswith(ANSWER)]
    if lines:
        found: dict[str, Any] = {"absence": None, **json.loads(lines[-1].removeprefix(ANSWER))}
        return found
    last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    return {"devices": 0, "absence": f"looking for it ended with: {last}"}


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments; it prints nothing at start and loads no vendor's package."""
    command = [sys.executable, *words]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=TIMEOUT, env=_environment()
    )


def _environment() -> dict[str, str]:
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    paths = [*os.environ.get("PYTHONPATH", "").split(os.pathsep), root]
    path = os.pathsep.join(path for path in paths if path not in ("", SITE))
    return {**os.environ, ANNOUNCED: "1", SWITCH: "0", autoload.VARIABLE: "0", "PYTHONPATH": path}

"""Recorded screens of a terminal of 80 columns, to compare with the current output.

`python -m tests.commands.screens` re-records them.
"""

from __future__ import annotations

import os
import pathlib
import re
import tempfile

from tests import platforms
from tests.ascend import build as soft_cann
from tests.commands import terminal

FOLDER = pathlib.Path(__file__).parent
# with these variables the vendor's package cannot load
BROKEN = {"LD_LIBRARY_PATH": "", "TORCH_DEVICE_BACKEND_AUTOLOAD": "1"}
PROGRAM = FOLDER / "train.py"
COMMANDS = {
    "check": ("check", "train.py"),
    "explain": ("explain", "torch.cuda.CUDAGraph", "--backend", "npu"),
    "port": ("port", "--diff", "train.py"),
    "rehearse": ("--rehearse", "npu", "train.py"),
}


def shown(name: str, folder: pathlib.Path) -> str:
    """Returns the output of a command in a folder that holds only the program."""
    (folder / "train.py").write_bytes(PROGRAM.read_bytes())
    return terminal.run(*COMMANDS[name], cwd=folder)[0]


def recorded(name: str) -> str:
    """Returns a recorded screen."""
    return (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def steady(text: str) -> str:
    """Returns a screen without the parts that differ between machines."""
    return re.sub(r"(Python|torch|Linux|loss) [\w.]+(\+\w+)?", r"\1 X", text)


def main() -> None:
    for name in COMMANDS:
        with tempfile.TemporaryDirectory() as folder:
            _record(name, shown(name, pathlib.Path(folder)))
    npu = platforms.platform("npu", soft_cann.environment(soft_cann.build(print)))
    _record("info", terminal.run("info", environment=npu.environment)[0])
    _record("doctor", terminal.run("doctor", environment={**os.environ, **BROKEN})[0])
    verified = terminal.run("verify", "--backend", "cpu", environment={**os.environ, "MORPH_ANNOUNCED": "1"})
    _record("verify", verified[0])


def _record(name: str, text: str) -> None:
    (FOLDER / f"{name}.txt").write_text(text, encoding="utf-8")

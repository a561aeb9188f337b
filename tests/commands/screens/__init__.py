"""Recorded screens of a terminal of 80 columns, and of 120, to compare with the current output.

`python -m tests.commands.screens` re-records them.
"""

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
WIDE = 120
COMMANDS: dict[str, tuple[str, ...]] = {
    "alone": (),
    "check": ("check", "train.py"),
    "explain": ("explain", "torch.cuda.CUDAGraph", "--backend", "npu"),
    "explain-package": ("explain", "flash_attn.flash_attn_func"),
    "explain-package-120": ("explain", "flash_attn.flash_attn_func"),
    "port": ("port", "--diff", "train.py"),
    "rehearse": ("--rehearse", "npu", "train.py"),
}


def shown(name: str, folder: pathlib.Path) -> str:
    """Returns the output of a command in a folder that holds only the program."""
    (folder / "train.py").write_bytes(PROGRAM.read_bytes())
    return terminal.run(*COMMANDS[name], cwd=folder, width=width(name))[0]


# stands for a compiler: the screen is the same, whatever is in the files that it makes
COMPILER = """#!/bin/sh
[ "$1" = --version ] && echo "c++ 12" && exit
while [ "$1" != -o ]; do shift; done
sleep 0.2
echo > "$2"
"""


def built(folder: pathlib.Path, columns: int) -> str:
    """Returns what `morph build` and `morph cache` show on a terminal, with the last look of the bar.

    Args:
        folder: An empty folder, for the cache and the compiler.
        columns: The terminal's.
    """
    compiler = folder / "c++"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    environment = {**os.environ, "MORPH_CACHE": "cache", "CXX": str(compiler), "TMPDIR": str(folder)}
    stays, before, status = terminal.run("build", cwd=folder, environment=environment, width=columns)
    assert status == 0, stays
    first, *bars = [line.strip() for line in re.split(r"[\r\n]*\x1b\[\??[\d;]*\w", before) if line.strip()]
    kept = terminal.run("cache", cwd=folder, environment=environment, width=columns)[0]
    said = first.replace("\r\n", "\n")
    return f"{said}\n{bars[-1]}\n{stays}{kept}"


def problems() -> str:
    """Returns the problems that `morph doctor` shows where the vendor's package cannot load."""
    environment = {**platforms.platform("cpu", {}).environment, **BROKEN}
    return terminal.run("doctor", environment=environment)[0].partition("\nproblems\n")[2]


def width(name: str) -> int:
    """Returns the columns of a screen: 80, unless its name says that it is wide."""
    return WIDE if name.endswith(f"-{WIDE}") else terminal.WIDTH


def recorded(name: str) -> str:
    """Returns a recorded screen."""
    return (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def steady(text: str) -> str:
    """Returns a screen without the parts that differ between machines."""
    # a torch built for CUDA brings cuda-bindings
    text = re.sub(r"note: cuda (?:.+\n)+?  nothing to do: morph serves it\n", "", text)
    text = re.sub(r"( cuda: served by morph as [\d.]+) \(.+\)", r"\1", text)
    text = re.sub(r"0:00:\d\d|\bin \d+ s", "X s", text)
    return re.sub(r"(Python|torch|Linux|loss) [\w.]+(\+\w+)?", r"\1 X", text)


def main() -> None:
    for name in COMMANDS:
        with tempfile.TemporaryDirectory() as folder:
            _record(name, shown(name, pathlib.Path(folder)))
    npu = platforms.platform("npu", soft_cann.environment(soft_cann.build(print)))
    _record("info", terminal.run("info", environment=npu.environment)[0])
    for name in ("build", f"build-{WIDE}"):
        with tempfile.TemporaryDirectory() as folder:
            _record(name, built(pathlib.Path(folder), width(name)))
    _record("doctor", problems())
    verified = terminal.run("verify", "--backend", "cpu", environment={**os.environ, "MORPH_ANNOUNCED": "1"})
    _record("verify", verified[0])


def _record(name: str, text: str) -> None:
    (FOLDER / f"{name}.txt").write_text(text, encoding="utf-8")

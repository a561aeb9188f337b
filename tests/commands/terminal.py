"""Runs morph in a terminal, as a person does."""

import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping

from tests.platforms import REPOSITORY

WIDTH = 80


def run(
    *words: str,
    environment: Mapping[str, str] | None = None,
    cwd: pathlib.Path | None = None,
    width: int = WIDTH,
) -> tuple[str, str, int]:
    """Runs morph with a terminal as its output.

    Args:
        *words: The command line of morph.
        environment: Variables of the process; this process's own unless given.
        cwd: Its working directory.
        width: The terminal's columns.

    Returns:
        The final output, without colours; what was shown before and erased; the exit status.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    inherited = {**(os.environ if environment is None else environment)}
    inherited.pop("COLUMNS", None)
    variables = {**inherited, "PYTHONPATH": str(REPOSITORY), "NO_COLOR": "1", "TERM": "xterm"}
    command = [sys.executable, "-m", "morph", *words]
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=variables, cwd=cwd) as process:
        os.close(theirs)
        seen = b""
        while chunk := _read(ours):
            seen += chunk
    os.close(ours)
    progress, _, shown = seen.decode().rpartition("\x1b[2K")
    text = re.sub(r"\x1b\[[\d;]*m", "", shown).replace("\r\n", "\n")
    return re.sub(r" +$", "", text, flags=re.MULTILINE), progress, process.returncode


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # Linux reports a closed other end this way
        return b""

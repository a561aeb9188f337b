"""Commands that run side by side, as many as there are cores and memory for."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Sequence

MEMORY = 3 << 29  # bytes that one compiler takes, of torch's headers mostly
PAUSE = 0.02  # seconds
# a compiler that ends with one of these may succeed the next time
FULL = "No space left", "Disk quota exceeded"
TRANSIENT = (
    *FULL,
    "Killed",
    "Terminated",
    "Bus error",
    "Input/output error",
    "out of memory",
    "annot allocate memory",
    "virtual memory exhausted",
)


class CommandError(Exception):
    """A command failed.

    Attributes:
        command: Its words.
        output: What it wrote on standard error.
        is_transient: Whether the machine's state, and not the command's input, made it fail.
        is_about_space: Whether there was no place left to write to.
    """

    def __init__(self, command: Sequence[str], status: int, output: str) -> None:
        super().__init__(command, status, output)
        self.command = command
        self.output = output
        self.is_transient = status < 0 or any(words in output for words in TRANSIENT)
        self.is_about_space = any(words in output for words in FULL)
        self._status = status

    @property
    def summary(self) -> str:
        """The first line that says what went wrong."""
        lines = self.output.splitlines()
        ending = f"the compiler ended with status {self._status}"
        return next(iter([line for line in lines if "error" in line] or lines), ending).strip()


def run_together(commands: Sequence[Sequence[str]], folder: pathlib.Path) -> None:
    """Run commands; if one fails, or this process is interrupted, the others are ended.

    Args:
        commands: Each as its words.
        folder: Takes what they write on standard error.

    Raises:
        CommandError: If one fails.
    """
    waiting = [_Command(words, folder / f"{number}.err") for number, words in enumerate(commands)]
    running: list[_Command] = []
    room = _room()
    try:
        while waiting or running:
            while waiting and len(running) < room:
                running.append(waiting.pop(0).start())
            time.sleep(PAUSE)
            running = [each for each in running if not each.has_ended()]
    finally:
        for each in running:
            each.end()


class _Command:
    """A command in a session of its own, so that its own children end with it."""

    def __init__(self, words: Sequence[str], errors: pathlib.Path) -> None:
        self._words = words
        self._errors = errors

    def start(self) -> _Command:
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                self._words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        return self

    def has_ended(self) -> bool:
        status = self._process.poll()
        if status:
            raise CommandError(self._words, status, self._errors.read_text(errors="replace"))
        return status is not None

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def _room() -> int:
    """Return how many commands may run at once."""
    from morph import host  # and psutil

    return max(1, min(len(os.sched_getaffinity(0)), host.free_memory() // MEMORY))

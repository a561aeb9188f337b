"""Commands that run side by side, as many as there are cores and memory for."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence

from morph.base import host

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
    "annot fork",
    "Resource temporarily unavailable",
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
        self.is_transient = not 0 <= status <= 128 or any(words in output for words in TRANSIENT)
        self.is_about_space = any(words in output for words in FULL)
        self._status = status

    @property
    def summary(self) -> str:
        """The first line that says what went wrong."""
        lines = self.output.splitlines()
        ending = f"the compiler ended with status {self._status}"
        return next(iter([line for line in lines if "error" in line] or lines), ending).strip()


Ended = Callable[[int, CommandError | None], None]


def raise_error(number: int, error: CommandError | None) -> None:
    """Raise the error of a command that failed: what ``run_together`` does with one unless told otherwise."""
    if error is not None:
        raise error


def run_together(
    commands: Sequence[Sequence[str | os.PathLike[str]]],
    ended: Ended = raise_error,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Run commands, no more at once than there are cores and memory for.

    Args:
        commands: Each as its words.
        ended: Called with the number of each command that has ended, and its error or None. If it raises, or
            this process is interrupted, the other commands are ended.
        check: Called again and again while they run; what it raises ends them, too.

    Raises:
        CommandError: If one fails, unless ``ended`` does something else.
    """
    lifeline, held = os.pipe()
    waiting = [_Command(number, words, lifeline) for number, words in enumerate(commands)]
    running: list[_Command] = []
    room = max(1, min(len(os.sched_getaffinity(0)), host.free_memory() // MEMORY)) if waiting else 0
    try:
        while waiting or running:
            while waiting and len(running) < room:
                running.append(waiting.pop(0).start())
            time.sleep(PAUSE)
            for each in [each for each in running if each.has_ended()]:
                running.remove(each)
                ended(each.number, each.error())
            check()
    finally:
        for each in running:
            each.end()
        os.close(lifeline)
        os.close(held)


# a command ends with the process that holds the other end of its standard input, however that one ends
_GUARDED = """exec 3<&0 < /dev/null
(read -r _ <&3; kill -KILL 0) &
"$@" 3<&-
status=$?
kill $!
exit $status
"""


class _Command:
    """A command in a session of its own, so that its own children end with it."""

    def __init__(self, number: int, words: Sequence[str | os.PathLike[str]], lifeline: int) -> None:
        self.number = number
        self._words = [os.fspath(word) for word in words]
        self._lifeline = lifeline

    def start(self) -> _Command:
        self._errors = os.fdopen(os.memfd_create("errors"), "w+b")  # needs no folder
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _GUARDED, "sh", *self._words],
            stdin=self._lifeline,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            start_new_session=True,
        )
        return self

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def error(self) -> CommandError | None:
        self._errors.seek(0)
        output = self._errors.read().decode(errors="replace")
        self._errors.close()
        status = self._process.returncode
        return CommandError(self._words, status, output) if status else None

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._errors.close()

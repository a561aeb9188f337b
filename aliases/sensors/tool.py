"""Runs a vendor's tool and caches its output briefly, since programs query one reading after the other."""

from __future__ import annotations

import shutil
import subprocess
import time

from morph.aliases.sensors.reading import UnknownReadingError

KEPT = 0.5
"""Seconds for which the output is cached."""

_TIMEOUT = 30.0


class Tool:
    """A command-line tool.

    Args:
        name: The command.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._answers: dict[tuple[str, ...], tuple[float, str]] = {}

    @property
    def installed(self) -> bool:
        """Whether the command exists."""
        return shutil.which(self._name) is not None

    def ask(self, *arguments: str) -> str:
        """Return the tool's output, cached briefly.

        Raises:
            UnknownReadingError: If the tool fails, with the first line of its message.
        """
        asked, answer = self._answers.get(arguments, (-KEPT, ""))
        if time.monotonic() - asked >= KEPT:
            answer = self._run(arguments)
            self._answers[arguments] = time.monotonic(), answer
        return answer

    def _run(self, arguments: tuple[str, ...]) -> str:
        command = [self._name, *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UnknownReadingError(f"{' '.join(command)}: {error}") from error
        if done.returncode:
            said = (done.stderr or done.stdout).strip().partition("\n")[0]
            raise UnknownReadingError(f"{' '.join(command)} ends with status {done.returncode}: {said}")
        return done.stdout

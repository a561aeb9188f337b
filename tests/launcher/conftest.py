"""Programs in a folder of their own, run by plain Python and under morph."""

import os
import pathlib
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from tests.platforms import REPOSITORY

MORPH = ["-m", "morph", "--backend", "cpu"]
OURS = {"PYTHONPATH", "MORPH_BACKEND", "MORPH_SCOPE"}


@dataclass(frozen=True)
class Outcome:
    """The result of a process."""

    status: int
    output: str
    errors: str


@dataclass(frozen=True)
class Folder:
    """A folder that programs are written to and run from."""

    path: pathlib.Path

    def write(self, name: str, text: str) -> pathlib.Path:
        """Write a file in the folder and return its path."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def python(
        self, *arguments: object, environment: Mapping[str, str] | None = None, given: bytes = b""
    ) -> Outcome:
        """Run Python in the folder with ``given`` on its standard input."""
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=self.path,
            env={**_environment(), **(environment or {})},
            input=given,
            capture_output=True,
            timeout=120,
            check=False,
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    def morph(self, *arguments: object, interpreter: Sequence[str] = (), **options: Any) -> Outcome:
        """Run a program under morph, on the CPU."""
        return self.python(*interpreter, *MORPH, *arguments, **options)

    def assert_same(self, *arguments: object, interpreter: Sequence[str] = (), **options: Any) -> Outcome:
        """Assert that the program behaves under morph exactly as under plain Python."""
        plain = self.python(*interpreter, *arguments, **options)
        ours = self.morph(*arguments, interpreter=interpreter, **options)
        assert ours == plain
        return ours


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> Folder:
    return Folder(tmp_path)


def _environment() -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name not in OURS}
    return {**inherited, "PYTHONPATH": str(REPOSITORY), "MORPH_ANNOUNCED": "1"}

"""The linter and the type checker find nothing."""

import os
import pathlib
import subprocess
import sys

from tests.platforms import REPOSITORY, describe


def run(*command: object, cwd: pathlib.Path = REPOSITORY, **variables: str) -> None:
    words = [sys.executable, "-m", *map(str, command)]
    environment = {**os.environ, **variables}
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, describe(done)


def test_ruff():
    run("ruff", "check", ".")


def test_ruff_format():
    run("ruff", "format", "--check", ".")


def test_types_of_the_package():
    run("tests.type_check")


def test_types_of_the_tools_of_the_tests():
    tools = [file for file in REPOSITORY.glob("tests/*.py") if not file.name.startswith("test_")]
    tools += REPOSITORY.glob("docs/generate/*.py")
    run("tests.type_check", *tools, "tests/ascend/build.py", "tests/ascend/symbols.py")

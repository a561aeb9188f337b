"""The toolkit, for programs in CUDA C++ that are built and run as processes."""

import os
import pathlib
import subprocess
import sys

import pytest

from tests.platforms import REPOSITORY


@pytest.fixture(scope="module")
def toolkit(native_parts) -> pathlib.Path:
    command = [sys.executable, "-m", "morph", "toolkit"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPOSITORY)
    return pathlib.Path(done.stdout.strip())


@pytest.fixture
def run(toolkit, tmp_path):
    """Runs a command in a folder of its own, with the toolkit as another CUDA's would be."""

    def run(*words, status=0, **variables):
        path = f"{toolkit / 'bin'}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "OF_TEST": "of the test", **variables}
        given = {"cwd": tmp_path, "env": environment, "input": "input", "capture_output": True, "text": True}
        done = subprocess.run(list(map(str, words)), **given, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return done

    return run

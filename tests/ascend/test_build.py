"""The soft CANN is built once, safely, and a build that fails says why."""

import os
import pathlib
import shutil
import sys

import pytest

from tests.ascend import build, symbols
from tests.platforms import REPOSITORY, complete, describe


@pytest.fixture(autouse=True)
def on_the_vendor():
    """These tests run in pytest's own process."""


@pytest.fixture
def quick_build(monkeypatch, tmp_path):
    """A build into an empty cache that compiles nothing; returns the list of its runs."""
    runs = []

    def build_into(folder, _scratch):
        runs.append(folder)
        (folder / "lib64").mkdir(parents=True)

    monkeypatch.setenv("MORPH_TEST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "_build_into", build_into)
    return runs


def test_a_second_build_finds_the_first(quick_build):
    lines: list[str] = []
    first, second = build.build(lines.append), build.build(lines.append)
    assert first == second
    assert (first / "lib64").is_dir()
    assert len(quick_build) == len(lines) == 1


def test_a_build_that_fails_leaves_nothing_and_is_told(quick_build, monkeypatch, tmp_path):
    def fail(folder, scratch):
        folder.mkdir()
        symbols.output(sys.executable, "-c", "raise SystemExit('no such header')")

    monkeypatch.setattr(build, "_build_into", fail)
    with pytest.raises(build.CannotBuildError, match="no such header"):
        build.build(print)
    assert [file.suffix for file in (tmp_path / "cache").iterdir()] in ([".lock"], [])


def test_an_absent_compiler_is_named(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "g++" else f"/usr/bin/{name}")
    with pytest.raises(build.CannotBuildError, match="g\\+\\+ is not installed"):
        build.build(print)


def test_every_library_of_the_vendor_finds_what_it_needs(cann):
    folder = pathlib.Path(cann["ASCEND_HOME_PATH"]) / "lib64"
    vendor = list(build._package_folder("torch_npu").rglob("*.so"))
    given = symbols.defined(folder / build.LIBRARY).union(*map(symbols.defined, build._present(vendor)))
    asked = set().union(*map(symbols.undefined, vendor))
    assert {name for name in asked - given if not name.startswith(("Py", "_Py"))} == set()
    assert {file.name for file in folder.iterdir()} >= build._cann_libraries(vendor)


def test_the_command_prints_an_environment_in_which_torch_sees_devices(cann):
    program = f'eval "$({sys.executable} -m tests.ascend.build)" && exec {sys.executable} -c "$1"'
    question = "import torch; print(torch.npu.device_count())"
    variables = {name: value for name, value in os.environ.items() if not name.startswith("TORCH_")}
    done = complete(["bash", "-c", program, "bash", question], env=variables, cwd=REPOSITORY)
    assert done.stdout == "2\n", describe(done)

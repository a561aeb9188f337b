"""The soft CANN is built once, safely, and a build that fails says why."""

import os
import pathlib
import shutil
import subprocess
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


BUILDING = """
import pathlib, sys, tempfile, time
from tests.ascend import build

begun = pathlib.Path(sys.argv[1])

def build_once_two_have_begun(folder, scratch):
    until = time.monotonic() + 60
    while len(list(begun.iterdir())) < 2 and time.monotonic() < until:
        time.sleep(0.01)
    folder.mkdir()

build._build_into = build_once_two_have_begun
tempfile.mkdtemp(dir=begun)
print(build.build(print))
"""


def test_a_second_build_finds_the_first(quick_build):
    lines: list[str] = []
    first, second = build.build(lines.append), build.build(lines.append)
    assert first == second
    assert (first / "lib64").is_dir()
    assert len(quick_build) == len(lines) == 1


def test_changed_sources_are_built_anew(quick_build, monkeypatch, tmp_path):
    first = build.build(print)
    (tmp_path / "runtime").mkdir()
    (tmp_path / "runtime" / "changed.cpp").write_text("int changed;\n")
    monkeypatch.setattr(build, "SOURCES", tmp_path)
    assert build.build(print) != first


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


def test_two_processes_build_once(cann, tmp_path):
    variables = {**os.environ, "MORPH_TEST_CACHE": str(tmp_path / "cache")}
    (tmp_path / "begun").mkdir()
    command = [sys.executable, "-c", BUILDING, str(tmp_path / "begun")]
    running = [
        subprocess.Popen(command, cwd=REPOSITORY, env=variables, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = sorted((process.communicate()[0].splitlines() for process in running), key=len)
    assert [process.returncode for process in running] == [0, 0]
    assert len(said[0]) == 1
    assert len(said[1]) == 2
    assert said[0][-1] == said[1][-1]


def test_every_library_of_the_vendor_finds_what_it_needs(cann):
    folder = pathlib.Path(cann["ASCEND_HOME_PATH"]) / "lib64"
    vendor = list(build._package_folder("torch_npu").rglob("*.so"))
    given = symbols.defined(folder / build.LIBRARY).union(*map(symbols.defined, build._present(vendor)))
    asked = set().union(*map(symbols.undefined, vendor))
    assert {name for name in asked - given if not name.startswith(("Py", "_Py"))} == set()
    assert {file.name for file in folder.iterdir()} >= build._cann_libraries(vendor)


def test_the_vendors_own_folder_is_left_alone(cann):
    links = [file for file in build._package_folder("torch_npu").rglob("*.so") if file.is_symlink()]
    assert links == []


def test_the_command_prints_an_environment_in_which_torch_sees_devices(cann):
    program = f'eval "$({sys.executable} -m tests.ascend.build)" && exec {sys.executable} -c "$1"'
    question = "import torch; print(torch.npu.device_count())"
    variables = {name: value for name, value in os.environ.items() if not name.startswith("TORCH_")}
    done = complete(["bash", "-c", program, "bash", question], env=variables, cwd=REPOSITORY)
    assert done.stdout == "2\n", describe(done)

"""Building C++ parts: once, for whoever asks first, wherever there is room."""

from __future__ import annotations

import pathlib
import signal
import subprocess
import time

import pytest

from tests.platforms import Platform

pytestmark = pytest.mark.platforms("cpu")

SOURCE = """
#include <Python.h>
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "probe", nullptr, -1, nullptr};
PyMODINIT_FUNC PyInit_probe() { return PyModule_Create(&definition); }
"""
BUILD = """
import sys
from morph import native
library = native.build("probe", [sys.argv[1]], progress=lambda line: print("said:", line))
print(native.load("probe", library).__name__, library)
"""
SLOW = '#!/bin/sh\ntouch "$0.started"\nsleep {seconds}\nexec c++ "$@"\n'


@pytest.fixture
def source(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "probe.cpp"
    path.write_text(SOURCE)
    return path


def built(platform: Platform, source: pathlib.Path, **environment: str) -> list[str]:
    cache = {"MORPH_CACHE": str(source.parent / "cache"), **environment}
    return platform.run(BUILD, source, morph=False, environment=cache).stdout.splitlines()


def start(platform: Platform, source: pathlib.Path, compiler: pathlib.Path) -> subprocess.Popen[str]:
    variables = {"MORPH_CACHE": str(source.parent / "cache"), "CXX": str(compiler)}
    return subprocess.Popen(
        [*platform.command(morph=False), "-c", BUILD, str(source)],
        env={**platform.environment, **variables},
        stdout=subprocess.PIPE,
        text=True,
    )


def slow_compiler(folder: pathlib.Path, seconds: int) -> pathlib.Path:
    compiler = folder / "slow"
    compiler.write_text(SLOW.format(seconds=seconds))
    compiler.chmod(0o755)
    return compiler


def test_builds_once_and_says_so_in_one_line(platform: Platform, source: pathlib.Path) -> None:
    said, loaded = built(platform, source)
    assert said.startswith("said: building probe for torch ")
    assert loaded.startswith(f"probe {source.parent}/cache/native/probe-")
    assert built(platform, source, CXX="no-such-compiler") == [loaded]


def test_a_changed_source_is_built_again(platform: Platform, source: pathlib.Path) -> None:
    _, first = built(platform, source)
    source.write_text(SOURCE + "// changed\n")
    _, second = built(platform, source)
    assert first != second


def test_two_processes_at_once_build_once(platform: Platform, source: pathlib.Path) -> None:
    compiler = slow_compiler(source.parent, seconds=1)
    processes = [start(platform, source, compiler) for _ in range(2)]
    outputs = [process.communicate(timeout=60)[0].splitlines() for process in processes]
    assert sorted(len(lines) for lines in outputs) == [1, 2]
    assert outputs[0][-1] == outputs[1][-1]


def test_a_builder_that_was_killed_holds_nobody_up(platform: Platform, source: pathlib.Path) -> None:
    compiler = slow_compiler(source.parent, seconds=5)
    killed = start(platform, source, compiler)
    while not pathlib.Path(f"{compiler}.started").exists():
        assert killed.poll() is None
        time.sleep(0.05)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert built(platform, source)[-1].startswith("probe ")


def test_a_cache_that_cannot_be_written(
    platform: Platform, source: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")
    elsewhere = tmp_path / "temporary"
    elsewhere.mkdir()
    _, loaded = built(platform, source, MORPH_CACHE=str(occupied), TMPDIR=str(elsewhere))
    assert loaded.startswith(f"probe {elsewhere}/morph-native-")


def test_what_others_may_write_is_not_loaded(
    platform: Platform, source: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    _, loaded = built(platform, source)
    (tmp_path / "cache" / "native").chmod(0o777)
    _, again = built(platform, source, TMPDIR=str(tmp_path))
    assert again != loaded


def test_a_refusal_is_one_line_and_remembered(platform: Platform, source: pathlib.Path) -> None:
    source.write_text("this is no C++")
    program = BUILD.replace("library = ", "try:\n    library = ").replace(
        "print(native", "except native.BuildError as error:\n    print(error)\n    sys.exit()\nprint(native"
    )
    environment = {"MORPH_CACHE": str(source.parent / "cache")}
    first = platform.run(program, source, morph=False, environment=environment).stdout.splitlines()
    second = platform.run(program, source, morph=False, environment=environment).stdout.splitlines()
    assert len(first) == 2
    assert "the C++ part 'probe' did not build: " in first[1]
    assert "error: " in first[1]
    assert len(second) == 1
    assert second[0].startswith("an earlier build of the C++ part 'probe' failed, see ")

"""C++ parts are built once, by the first process that needs them, in a cache folder that has room."""

import pathlib
import signal
import subprocess
import time

import pytest

from tests.platforms import Platform

pytestmark = [pytest.mark.long, pytest.mark.platforms("cpu")]

BUILD = """
import pathlib, sys
from morph.base import native
from morph.base.native import compiling
from morph.base.native.library import digest, together
from morph.base.native.target import Target

sys.stderr = sys.stdout
source, target = pathlib.Path(sys.argv[1]), Target.installed()
sources = digest(target.identity, [source.parent])
options = tuple(compiling.options("probe", target, compiling.include_folders(), "-O1"))
recipe = native.Recipe(sources, (together("probe", [source]),), options, compiling.links())
library = native.Library("probe", pathlib.Path(f"probe-{sources}{target.suffix}"), lambda: recipe)
module = native.load(library)
print(module.__name__, module.__file__)
"""
SLOW = '#!/bin/sh\ntouch "$0.started"\nsleep {seconds}\nexec c++ "$@"\n'


def folders(source: pathlib.Path) -> dict[str, str]:
    """Return the variables that name the two folders of the cache."""
    return {"MORPH_CACHE": str(source.parents[1] / "cache"), "TMPDIR": str(source.parents[1])}


def built(platform: Platform, source: pathlib.Path, **environment: str) -> list[str]:
    cache = {**folders(source), **environment}
    return platform.run(BUILD, source, morph=False, environment=cache).stdout.splitlines()


def failed(platform: Platform, source: pathlib.Path, **environment: str) -> list[str]:
    """Build, and return the output lines; the last one is the error."""
    program = BUILD.replace("module = ", "try:\n    module = ").replace(
        "print(module", "except native.BuildError as error:\n    print(error)\n    sys.exit()\nprint(module"
    )
    cache = {**folders(source), **environment}
    return platform.run(program, source, morph=False, environment=cache).stdout.splitlines()


def start(
    platform: Platform, source: pathlib.Path, compiler: pathlib.Path | str = "c++"
) -> subprocess.Popen[str]:
    variables = {**folders(source), "CXX": str(compiler)}
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


def test_builds_once_and_says_so(platform: Platform, source: pathlib.Path) -> None:
    said, way_out, ended, loaded = built(platform, source)
    assert said.startswith("morph: compiling its C++ parts for torch ")
    assert way_out.startswith("morph: `morph build` beforehand")
    assert ended.startswith("morph: compiled them in ")
    assert loaded.startswith(f"probe {source.parents[1]}/cache/native/probe-")
    assert built(platform, source, CXX="no-such-compiler") == [loaded]


def test_a_changed_source_is_built_again(platform: Platform, source: pathlib.Path) -> None:
    *_, first = built(platform, source)
    source.write_text(f"{source.read_text()}// changed\n")
    *_, second = built(platform, source)
    assert first != second


def test_two_processes_at_once_build_once(platform: Platform, source: pathlib.Path) -> None:
    compiler = slow_compiler(source.parents[1], seconds=1)
    processes = [start(platform, source, compiler) for _ in range(2)]
    outputs = [process.communicate(timeout=60)[0].splitlines() for process in processes]
    said = sorted(" ".join(line.split()[:3]) for lines in outputs for line in lines[:-1])
    began = ["morph: `morph build`", "morph: compiled them", "morph: compiling its"]
    assert said == [*began, "morph: waiting for"]
    assert outputs[0][-1] == outputs[1][-1]


def test_a_builder_that_was_killed_holds_nobody_up(platform: Platform, source: pathlib.Path) -> None:
    compiler = slow_compiler(source.parents[1], seconds=5)
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
    *_, loaded = built(platform, source, MORPH_CACHE=str(occupied), TMPDIR=str(elsewhere))
    assert loaded.startswith(f"probe {elsewhere}/morph-native-")


def test_what_others_may_write_is_not_loaded(
    platform: Platform, source: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    *_, loaded = built(platform, source)
    (tmp_path / "cache" / "native").chmod(0o777)
    *_, again = built(platform, source, TMPDIR=str(tmp_path))
    assert again != loaded


def test_a_refusal_is_one_line_and_remembered(platform: Platform, source: pathlib.Path) -> None:
    source.write_text("this is no C++")
    first, second = failed(platform, source), failed(platform, source)
    _, _, problem = first
    assert "the C++ part 'probe' did not build: " in problem
    assert "error: " in problem
    assert len(second) == 1
    assert second[0].startswith("an earlier build of the C++ part 'probe' failed, see ")


def test_a_library_that_is_no_module_is_refused_in_one_line(platform: Platform, source: pathlib.Path) -> None:
    source.write_text("int nothing;\n")
    *_, problem = failed(platform, source)
    assert problem.startswith("the C++ part 'probe' cannot be loaded: ")
    assert problem.count("does not define module export function (PyInit_probe)") == 2, "from either folder"


def compiler_that(folder: pathlib.Path, script: str) -> str:
    """Return the path of a compiler that is a shell script; ``$FAIL`` makes it fail."""
    path = folder / "compiler"
    path.write_text(f'#!/bin/sh\nif [ -n "$FAIL" ]; then {script}; fi\nexec c++ "$@"\n')
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    "script",
    [
        "kill -9 $$",
        "echo 'c++: fatal error: Killed signal terminated program cc1plus' >&2; exit 1",
        "echo 'virtual memory exhausted: Cannot allocate memory' >&2; exit 1",
        "echo 'sh: 0: Cannot fork' >&2; exit 2",
    ],
    ids=["killed", "its program was killed", "no memory", "no process"],
)
def test_a_compiler_that_was_killed_is_tried_again(
    platform: Platform, source: pathlib.Path, script: str
) -> None:
    compiler = compiler_that(source.parents[1], script)
    *_, problem = failed(platform, source, CXX=compiler, FAIL="1")
    assert problem.startswith("the C++ part 'probe' did not build: ")
    assert built(platform, source, CXX=compiler)[-1].startswith("probe ")


def test_another_compiler_is_tried_after_a_refusal(platform: Platform, source: pathlib.Path) -> None:
    compiler = compiler_that(source.parents[1], "echo 'error: unknown option' >&2; exit 1")
    assert "error: unknown option; see " in failed(platform, source, CXX=compiler, FAIL="1")[-1]
    assert failed(platform, source, CXX=compiler)[-1].startswith("an earlier build of the C++ part 'probe'")
    assert built(platform, source)[-1].startswith("probe ")


def test_missing_headers_of_python_are_named(platform: Platform, source: pathlib.Path) -> None:
    error = "probe.cpp:2:10: fatal error: Python.h: No such file or directory"
    compiler = compiler_that(source.parents[1], f"echo '{error}' >&2; exit 1")
    assert "(install Python's headers: python3-dev)" in failed(platform, source, CXX=compiler, FAIL="1")[-1]


def test_an_interrupt_ends_the_compilers_and_says_what_was_built(
    platform: Platform, source: pathlib.Path
) -> None:
    pids = source.parents[1] / "pids"
    compiler = compiler_that(source.parents[1], f"(sleep 60 & echo $! >> {pids}; wait)")
    process = subprocess.Popen(
        [*platform.command(morph=False), "-c", BUILD, str(source)],
        env={**platform.environment, **folders(source), "CXX": compiler, "FAIL": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    while not (pids.exists() and pids.read_text().strip()):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    last = output.splitlines()[-1]
    assert last == "KeyboardInterrupt: morph's C++ parts were being built; the next start goes on"
    assert not any(is_running(int(pid)) for pid in pids.read_text().split())
    kept = source.parents[1] / "cache" / "native"
    assert [each.name for each in kept.iterdir() if each.is_dir()] == ["objects"], "the next start goes on"


def is_running(pid: int) -> bool:
    state = pathlib.Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"

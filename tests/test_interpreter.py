"""Pythons that morph starts for itself run no code of the current folder."""

import ast
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

from docs.generate.rooms import module_files
from morph.base import interpreter
from tests.platforms import REPOSITORY

CALLS = {name for name in dir(os) if name.startswith(("exec", "spawn", "posix_spawn", "popen", "system"))}
STARTING = {"subprocess", "pty", "multiprocessing"}
HOSTILE = "import pathlib; pathlib.Path(__file__, '..', 'EXECUTED').resolve().touch()"
NAMES = ("morph", "ast", "tokenize", "json", "torch", "torch_npu", "sitecustomize", "runpy", "pip", "wheel")
CONSOLE_SCRIPT = "import sys; from morph.running.launcher.command import main; sys.exit(main())"

# What the modules start that import a module of STARTING
STARTS = {
    "morph.activation.building": "interpreter.command, in the background",
    "morph.aliases.sensors.tool": "a vendor's tool",
    "morph.running.diagnosis.native_parts": "a compiler",
    "morph.running.diagnosis.processes": "interpreter.command",
    "morph.kernels.extensions.modules": "the toolkit's nvcc",
    "morph.kernels.extensions.commands": "a compiler",
    "morph.kernels.numba.building": "a compiler",
    "morph.kernels.triton.building": "a compiler",
    "morph.running.launcher.rehearsing": "interpreter.launcher_command",
    "morph.base.native.commands": "compilers",
    "morph.evidence.rehearsal.recording": "nothing: it registers a function with multiprocessing",
    "morph.software.sharing": "nothing: it registers a pickler with multiprocessing",
    "morph.running.wheels.building": "a compiler",
    "morph.running.wheels.headers": "interpreter.command, and another Python with -I",
    "morph.running.wheels.packing": "interpreter.command",
}
# What else sys.executable is for
MENTIONS = {
    "morph.running.diagnosis.description": "a text",
    "morph.running.environment.place": "a message",
    "morph.base.interpreter": "the one way",
    "morph.kernels.extensions.linking": "a program that becomes it, and takes the folder out of its path",
    "morph.kernels.extensions.toolkit": "a script that starts it with -I",
    "morph.kernels.nvidia_smi.launcher": "a script that starts it with a script of a private folder",
    "morph.running.wheels.__main__": "a default of an option",
    "morph.running.wheels.packing": "the folder of tools",
}


@pytest.fixture
def hostile(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder with modules that must not be executed."""
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text(HOSTILE)
    (tmp_path / "console").mkdir()
    (tmp_path / "console" / "morph").write_text(CONSOLE_SCRIPT)
    return tmp_path


def run(command: list[str], folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert not (folder / "EXECUTED").exists(), done.stderr
    return done


@pytest.mark.parametrize("start", [interpreter.command, interpreter.without_option])
def test_a_python_of_morphs_own(start, hostile: pathlib.Path) -> None:
    code = "import ast, json, sys; print(sys.argv, ast.__file__)"
    done = run(start("-c", code, "a", "b"), hostile)
    assert done.stdout.split(" /")[0] == "['-c', 'a', 'b']", done.stderr
    done = run(start("-m", "json.tool", "--help"), hostile)
    assert "--indent" in done.stdout
    done = run(start("-m", "morph", "--version"), hostile)
    assert done.stdout.startswith("morph "), done.stderr


@pytest.mark.usefixtures("native_parts")
@pytest.mark.parametrize(
    "words", [["info", "--json"], pytest.param(["doctor", "--json"], marks=pytest.mark.long)], ids=" ".join
)
def test_a_command_that_looks_at_this_machine(words: list[str], hostile: pathlib.Path) -> None:
    done = run([sys.executable, str(hostile / "console" / "morph"), *words], hostile)
    assert done.returncode < 2, done.stderr


def test_a_program_of_a_rehearsal_on_every_backend(tmp_path: pathlib.Path) -> None:
    (tmp_path / "morph.py").write_text(HOSTILE)
    program = "import sys; print(sys.path[0] == '', sys.argv)"
    done = run(interpreter.launcher_command("--rehearse", "npu", "-c", program, "x"), tmp_path)
    assert done.stdout.startswith("True ['-c', 'x']\n"), done.stderr


def imported(tree: ast.AST) -> set[str]:
    names = [each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names}


def mentions_executable(tree: ast.AST) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == "executable" for node in ast.walk(tree))


def test_every_place_that_starts_a_process_is_known() -> None:
    trees = {name: ast.parse(path.read_text()) for name, path in module_files().items()}
    assert {name for name, tree in trees.items() if imported(tree) & STARTING} == {*STARTS}
    assert {name for name, tree in trees.items() if mentions_executable(tree)} == {*MENTIONS}
    for name, tree in trees.items():
        assert not {*_calls_of_os(tree)} & CALLS, name


def _calls_of_os(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
            yield node.attr

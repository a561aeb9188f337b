"""A program behaves under morph exactly as under plain Python."""

import signal
import subprocess
import sys
import textwrap
import zipfile

import pytest

from tests.launcher.conftest import Folder
from tests.platforms import REPOSITORY

SINCE_3_11 = sys.version_info >= (3, 11)
DESCRIBE = """
import sys
own = dict(vars())
own.pop("sys")
loader, spec = own.pop("__loader__"), own.pop("__spec__")
print(spec and (spec.name, spec.origin, spec.cached, spec.parent))
print({**own, "__builtins__": type(own["__builtins__"])})
print(loader if isinstance(loader, type) else (type(loader).__name__, getattr(loader, "path", None)))
print(sys.argv, sys.path[0], sys.path[-1], sys.modules["__main__"].__dict__ is globals())
"""
FAIL = """
import sys
def inner():
    raise ValueError("no such thing")
try:
    {}["key"]
except KeyError:
    inner()
"""


def test_module_attributes_and_path_of_a_script(folder: Folder) -> None:
    folder.write("tool/describe.py", DESCRIBE)
    (folder.path / "linked.py").symlink_to("tool/describe.py")
    for path in (
        "tool/describe.py",
        "./tool/../tool/describe.py",
        folder.path / "tool/describe.py",
        "linked.py",
    ):
        folder.assert_same(path, "--backend", "x", "-m", "--help")


@pytest.mark.parametrize(
    "interpreter", [[], *[["-P"]] * SINCE_3_11, ["-O"], ["-OO"], ["-X", "dev"], ["-X", "utf8"], ["-Wdefault"]]
)
@pytest.mark.parametrize(
    "program", [["describe.py"], ["-m", "describe"], ["-m", "package"], ["package"], ["-c", DESCRIBE]]
)
def test_every_kind_under_interpreter_options(
    folder: Folder, interpreter: list[str], program: list[str]
) -> None:
    folder.write("describe.py", DESCRIBE)
    folder.write("package/__init__.py", "")
    folder.write("package/__main__.py", DESCRIBE)
    environment = {"PYTHONPATH": f"{folder.path}:{REPOSITORY}"} if "-P" in interpreter else {}
    outcome = folder.assert_same(*program, "argument", interpreter=interpreter, environment=environment)
    assert outcome.status == 0, outcome.errors


def test_safe_path_from_the_environment(folder: Folder) -> None:
    folder.write("describe.py", DESCRIBE)
    folder.assert_same("describe.py", environment={"PYTHONSAFEPATH": "1"})


def test_program_from_standard_input(folder: Folder) -> None:
    folder.assert_same("-", "argument", given=DESCRIBE.encode())
    folder.assert_same("-", given=FAIL.encode())


def test_zip_file(folder: Folder) -> None:
    with zipfile.ZipFile(folder.path / "program.zip", "w") as archive:
        archive.writestr("__main__.py", DESCRIBE + "import helper; print(helper.__file__)")
        archive.writestr("helper.py", "")
    folder.assert_same("program.zip", "argument")


def test_bytecode_as_program(folder: Folder) -> None:
    folder.write("describe.py", DESCRIBE)
    folder.python("-m", "compileall", "-q", "-b", "describe.py")
    folder.assert_same("describe.pyc", "argument")
    (folder.path / "renamed").write_bytes((folder.path / "describe.pyc").read_bytes())
    folder.assert_same("renamed")
    folder.write("broken.pyc", "garbage")
    assert folder.assert_same("broken.pyc").status == 1


def test_siblings_and_changed_directory(folder: Folder) -> None:
    folder.write("sibling.py", "value = 42")
    folder.write(
        "away/program.py", "import os; os.chdir('/'); import sibling; print(__file__, sibling.__file__)"
    )
    folder.write("away/sibling.py", "")
    assert folder.assert_same("away/program.py").status == 0


@pytest.mark.parametrize(
    "ending",
    [
        "sys.exit()",
        "sys.exit(0)",
        "sys.exit(3)",
        "sys.exit('in a word')",
        "sys.exit(2**40)",
        "sys.exit((1, 2))",
        "raise SystemExit(None)",
        "raise KeyboardInterrupt",
        *["raise BaseExceptionGroup('several', [ValueError(1), TypeError(2)])"] * SINCE_3_11,
        "os._exit(5)",
        "os.kill(os.getpid(), signal.SIGTERM)",
        "os.kill(os.getpid(), signal.SIGINT); time.sleep(60)",
        "del sys.excepthook; 1 / 0",
        "sys.excepthook = lambda kind, error, trace: print(error, trace.tb_lineno); 1 / 0",
        "sys.excepthook = lambda *error: sys.exit(7); 1 / 0",
        "sys.excepthook = lambda *error: {}['key']; 1 / 0",
        "atexit.register(print, 'one'); atexit.register(print, 'two'); print('body'); 1 / 0",
        "main = threading.main_thread()\n"
        "threading.Thread(target=lambda: (main.join(), print('thread'))).start(); sys.exit(4)",
        "threading.Thread(target=lambda: 1 / 0, name='worker').start()",
        "warnings.warn('old', DeprecationWarning)",
        "print(signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT))",
        "exec('1 +')",
        "atexit.register(lambda: print(sys.last_type, sys.last_traceback.tb_lineno)); 1 / 0",
    ],
)
@pytest.mark.parametrize("kind", ["script", "module", "code"])
def test_endings(folder: Folder, ending: str, kind: str) -> None:
    program = f"import atexit, os, signal, sys, threading, time, warnings\n{ending}\n"
    folder.write("program.py", program)
    arguments = {"script": ["program.py"], "module": ["-m", "program"], "code": ["-c", program]}
    folder.assert_same(*arguments[kind])


@pytest.mark.parametrize("kind", [["program.py"], ["-m", "program"], ["package"], ["-m", "package"]])
@pytest.mark.parametrize(
    "text",
    [
        FAIL,
        "x = (\n",
        "def f():\n\treturn 1\n        return 2\n",
        "return 1",
        "print('\\d')\n1 / 0",
        "ü = 1 / 0",
    ],
)
def test_tracebacks_and_syntax_errors(folder: Folder, kind: list[str], text: str) -> None:
    folder.write("program.py", text)
    folder.write("package/__main__.py", text)
    folder.write("package/__init__.py", "")
    assert folder.assert_same(*kind).status in (0, 1)


def test_encodings(folder: Folder) -> None:
    (folder.path / "latin.py").write_bytes("# -*- coding: latin-1 -*-\nprint('é', 1 / 0)".encode("latin-1"))
    (folder.path / "bom.py").write_bytes("print(ascii('é'))".encode("utf-8-sig"))
    for name in ("latin.py", "bom.py"):
        folder.assert_same(name)


@pytest.mark.parametrize("content", [b"print('\xe9')", b"\0"])
def test_a_file_that_is_not_text(folder: Folder, content: bytes) -> None:
    # the interpreter reads line by line, and so words the same error differently
    (folder.path / "program.py").write_bytes(content)
    plain, ours = folder.python("program.py"), folder.morph("program.py")
    assert plain.status == ours.status == 1
    assert "SyntaxError" in plain.errors
    assert "SyntaxError" in ours.errors
    assert "morph" not in ours.errors


def test_a_name_that_is_not_ascii(folder: Folder) -> None:
    folder.write("prögramm.py", "print(__file__); 1 / 0")
    folder.assert_same("prögramm.py", "ärgument")


def test_classes_of_the_script_can_be_pickled(folder: Folder) -> None:
    program = """
        import pickle, inspect
        class Point:
            x = 1
        assert type(pickle.loads(pickle.dumps(Point()))) is Point
        print(inspect.getsource(Point), pickle.dumps(Point()))
    """
    folder.write("program.py", textwrap.dedent(program))
    assert folder.assert_same("program.py").status == 0


def test_module_that_does_not_exist(folder: Folder) -> None:
    folder.write("package/__init__.py", "")
    for name in ("nowhere", "package", "package.nowhere", "package.py"):
        assert folder.assert_same("-m", name).status == 1


def test_folder_without_main(folder: Folder) -> None:
    (folder.path / "empty").mkdir()
    assert folder.assert_same("empty").status == 1


def test_interrupt_ends_with_the_signal(folder: Folder) -> None:
    folder.write("program.py", "import time\nprint('ready', flush=True)\ntime.sleep(60)\n")
    command = [sys.executable, "-m", "morph", "--backend", "cpu", "program.py"]
    with subprocess.Popen(
        command,
        cwd=folder.path,
        env={"PYTHONPATH": str(REPOSITORY)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT
    assert "morph" not in errors


def test_hostile_folder_is_not_asked(folder: Folder) -> None:
    for name in ("wrapt", "tomllib", "dataclasses", "runpy", "sitecustomize"):
        folder.write(f"{name}.py", "print('hostile')")
    folder.write("away/program.py", "print('program')")
    outcome = folder.morph("away/program.py", interpreter=["-P"])
    assert (outcome.output, outcome.status) == ("program\n", 0)


def test_the_console_script_ends_as_python_does(folder: Folder) -> None:
    ending = "if __name__ == '__main__':\n    sys.exit(main())\n"
    folder.write("console.py", f"import sys\nfrom morph.running.launcher.command import main\n{ending}")
    for text in ("def f(:", "raise SystemExit(3)", "1 / 0", "print('done')"):
        folder.write("program.py", text)
        path = {"PYTHONPATH": str(REPOSITORY)}
        plain, ours = folder.python("program.py"), folder.python("console.py", "program.py", environment=path)
        assert (ours.status, ours.output, ours.errors) == (plain.status, plain.output, plain.errors)

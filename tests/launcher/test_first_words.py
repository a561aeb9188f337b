"""What a person types first: `morph` alone, `morph help`, `-V`, `--quiet`."""

import os
import pathlib
import subprocess
import sys

import pytest

from morph import __version__
from tests.commands import status
from tests.platforms import REPOSITORY, complete

CONSOLE_SCRIPT = "import sys; from morph.running.launcher.command import main; sys.exit(main())"
CHILD = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import torch'], check=True)"
PROGRAMS = ["import torch", CHILD]


def run(*command: object, **variables: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MORPH_")}
    environment = {**inherited, "PYTHONPATH": str(REPOSITORY), "MORPH_BACKEND": "cpu", **variables}
    words = [sys.executable, *map(str, command)]
    return complete(words, env=environment)


def test_morph_alone_says_what_it_is_for_in_a_few_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert status() == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("usage: python -m morph [options] program.py")
    assert "help [command]" in said.err
    assert len(said.err.splitlines()) < 24


def test_help_of_morph_and_of_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("help") == 0
    whole = capsys.readouterr().out
    assert status("--help") == status("-h") == 0
    assert capsys.readouterr().out == whole * 2
    assert status("help", "check") == 0
    of_command = capsys.readouterr().out
    assert status("check", "--help") == 0
    assert capsys.readouterr().out == of_command
    assert status("help", "chek") == 2
    assert capsys.readouterr().err == "morph: there is no command 'chek'; did you mean check?\n"


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("-V") == status("--version") == 0
    assert capsys.readouterr().out == f"morph {__version__}\n" * 2


@pytest.mark.parametrize(
    "program", [PROGRAMS[0], pytest.param(PROGRAMS[1], marks=pytest.mark.long)], ids=["itself", "child"]
)
def test_quiet(program: str) -> None:
    line = "morph: cuda is cpu (the CPU, 1 device)\n"
    assert run("-m", "morph", "-c", program, MORPH_QUIET="0").stderr == line
    assert run("-m", "morph", "-c", program, MORPH_QUIET="1").stderr == ""
    done = run("-m", "morph", "--quiet", "-c", program)
    assert (done.returncode, done.stderr) == (0, "")


def test_quiet_takes_no_value_and_hides_no_problem(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("--quiet=1", "-c", "") == 2
    assert "error: --quiet takes no value" in capsys.readouterr().err
    done = run("-m", "morph", "-q", "-c", "import torch", MORPH_BACKEND="mlu")
    assert (done.returncode, done.stderr.count("morph: backend 'mlu' cannot be used")) == (2, 1)


def test_messages_name_what_was_typed(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "morph"
    script.write_text(CONSOLE_SCRIPT)
    for start, name in ((["-m", "morph"], "python -m morph"), ([script], "morph")):
        assert run(*start, "absent.py").stderr.startswith(f"{name}: can't open file 'absent.py'")
        assert run(*start, "--absent").stderr.splitlines()[-1] == f"{name}: error: unknown option --absent"
        assert run(*start, "check", "--help").stdout.startswith(f"usage: {name} check ")
        assert f"\nusage: {name} " in "\n" + run(*start).stderr

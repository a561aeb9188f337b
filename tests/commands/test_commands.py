"""The commands of `morph`: their registration, their help, and that a program of the same name still runs."""

from __future__ import annotations

import importlib
import pathlib
import subprocess
import sys

import pytest

from morph import __version__
from morph.running import commands
from morph.running.launcher.command import main
from tests.commands import terminal
from tests.platforms import REPOSITORY


def test_every_module_of_a_command_is_registered() -> None:
    folder = pathlib.Path(commands.__file__).parent
    assert {path.stem for path in folder.glob("*.py")} - {"__init__"} == set(commands.COMMANDS)
    for name in commands.COMMANDS:
        assert importlib.import_module(f"morph.running.commands.{name}").__doc__
        assert importlib.import_module(f"morph.running.commands.{name}").EXAMPLE.split()[0] == name


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert said.startswith(f"usage: python -m morph {name} ")
    assert f"Example: python -m morph {name}" in " ".join(said.split())
    with pytest.raises(SystemExit):
        main(["--help"])
    assert f"\n  {name} " in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"morph {__version__}\n"


def test_words_that_a_command_cannot_understand(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["surface", "compare", "torch_npu-2.13.0"])
    assert ended.value.code == 2
    assert "the following arguments are required: NEW" in capsys.readouterr().err


def test_an_error_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["surface", "compare", "torch_npu-1", "torch_npu-2.13.0"])
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("morph: there is no recorded surface 'torch_npu-1'; there are torch_")


def test_a_program_that_is_called_like_a_command(tmp_path: pathlib.Path) -> None:
    (tmp_path / "surface").write_text("import sys; print(sys.argv)")
    for words in (["./surface", "compare"], ["--", "surface", "compare"]):
        done = subprocess.run(
            [sys.executable, "-m", "morph", *words],
            cwd=tmp_path,
            env={"PYTHONPATH": str(REPOSITORY)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == str(words[words[0] == "--" :])


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        *([name, "--help"] for name in commands.COMMANDS),
        ["coverage"],
        ["explain", "torch.cuda.gds"],
    ],
    ids=" ".join,
)
def test_text_fits_a_terminal_without_losing_any(words: list[str]) -> None:
    shown, _, status = terminal.run(*words)
    assert status == 0
    assert max(map(len, shown.splitlines())) <= terminal.WIDTH
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown

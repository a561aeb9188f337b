"""The commands of `morph`: registration and help, programs of the same name, completion, and `bench`."""

from __future__ import annotations

import importlib
import pathlib
import shutil
import subprocess
import sys

import pytest

from morph.running import commands
from morph.running.commands import bench
from morph.running.launcher.command import main
from morph.verification.measurement import Figure
from morph.verification.measurement.timing import summarised
from tests.commands import screens, terminal
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
        [],
        ["--help"],
        ["help"],
        *([name, "--help"] for name in commands.COMMANDS),
        ["coverage"],
        ["explain", "torch.cuda.gds"],
    ],
    ids=" ".join,
)
def test_text_fits_a_terminal_without_losing_any(words: list[str]) -> None:
    shown, _, status = terminal.run(*words)
    assert status == (0 if words else 2)
    assert max(map(len, shown.splitlines())) <= terminal.WIDTH
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown


ASK = """
COMP_WORDS=({words}) COMP_CWORD={index}
_morph
echo "${{COMPREPLY[@]}}"
"""


def completed(capsys: pytest.CaptureFixture[str], words: str, index: int) -> list[str]:
    assert commands.run(["completion", "bash"]) == 0
    code = capsys.readouterr().out + ASK.format(words=words, index=index)
    return subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash(capsys: pytest.CaptureFixture[str]) -> None:
    assert completed(capsys, "morph ex", 1) == ["explain"]
    assert completed(capsys, "morph --backend x", 2) == ["xpu"]
    assert completed(capsys, "morph --rehearse al", 2) == ["all"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_take_the_code(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.run(["completion", shell]) == 0
    code = capsys.readouterr().out
    assert "doctor" in code
    if shutil.which(shell):
        subprocess.run([shell, "-n", "-c", code], check=True)


STEADY = Figure("torch.cuda.is_available()", 212.4, 200.1, (1.05, 1.08))
UNSTEADY = Figure("torch.device('cuda')", 512.0, 200.0, (0.98, 4.13))
FAILED = Figure("there.to(torch.float32)", error="no such device")


def shown(figures: list[Figure], capsys: pytest.CaptureFixture[str]) -> str:
    bench._print(figures, "npu")
    return "".join(f"{line.rstrip()}\n" for line in capsys.readouterr().out.splitlines())


def test_quartiles_of_the_ratios_of_rounds() -> None:
    measured = summarised("a call", [2e-9, 4e-9, 9e-9, 8e-9, 10e-9], [1e-9, 2e-9, 3e-9, 2e-9, 2e-9])
    assert (measured.cuda, measured.own) == pytest.approx((8, 2))
    assert measured.quartiles == pytest.approx((2, 4))
    assert summarised("a call", [6e-9], [2e-9]).quartiles == pytest.approx((3, 3))


def test_a_machine_that_is_busy(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown([STEADY, UNSTEADY, FAILED], capsys) == screens.recorded("bench")


def test_a_machine_that_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert "spread widely" not in shown([STEADY, FAILED], capsys)

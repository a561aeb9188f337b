"""The commands of `morph`: registration and help, programs of the same name, completion, and `bench`."""

import importlib
import pathlib
import shutil
import subprocess
import sys

import pytest

from morph.running import commands
from morph.running.commands import bench
from morph.verification.measurement import Figure
from morph.verification.measurement.timing import summarised
from tests.commands import screens, status, terminal
from tests.platforms import REPOSITORY


def test_every_module_of_a_command_is_registered() -> None:
    folder = pathlib.Path(commands.__file__).parent
    assert {path.stem for path in folder.glob("*.py")} - {"__init__"} == set(commands.COMMANDS)
    for name in commands.COMMANDS:
        assert importlib.import_module(f"morph.running.commands.{name}").__doc__
        assert importlib.import_module(f"morph.running.commands.{name}").EXAMPLE.split()[0] == name


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(name, "--help") == 0
    said = capsys.readouterr().out
    assert said.startswith(f"usage: python -m morph {name} ")
    assert f"Example: python -m morph {name}" in " ".join(said.split())
    status("--help")
    assert f"\n  {name} " in capsys.readouterr().out


NO_BACKEND = "there is no backend 'hpu'; the backends are "
NO_FILE = "there is no file or folder 'absent.py' to scan"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("check absent.py", NO_FILE),
        ("check -p no_such_package", "there is no package 'no_such_package' to scan"),
        ("check --backend hpu .", NO_BACKEND),
        ("check --sarif no/such/folder.sarif .", "cannot write no/such/folder.sarif: No such "),
        ("coverage --backend hpu", NO_BACKEND),
        ("coverage transformer_engine", "morph serves no 'transformer_engine'; it serves torch.cuda, "),
        ("explain torch.cuda.Stream --backend hpu", NO_BACKEND),
        ("port absent.py", NO_FILE),
        ("surface compare torch_npu-1 torch_npu-2.13.0", "there is no recorded surface 'torch_npu-1'; there"),
        ("surface record torch_nowhere", "no table lists the modules of torch_nowhere; name them"),
        ("surface record torch_mlu", "no installed distribution has the package torch_mlu"),
        ("surface record torch --module torch.nowhere", "there is no torch.nowhere to record: "),
        ("surface record torch --module torch.ones", "torch.ones is no module"),
    ],
)
def test_what_a_command_cannot_do_is_one_line(
    words: str,
    said: str,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert status(*words.split()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"morph: {said}")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("check --no-such-option .", "unrecognized arguments: --no-such-option"),
        ("port", "the following arguments are required: "),
        ("port --diff --write .", "not allowed with argument"),
        ("surface compare torch_npu-2.13.0", "the following arguments are required: NEW"),
    ],
)
def test_words_that_a_command_cannot_understand(
    words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(*words.split()) == 2
    assert said in capsys.readouterr().err


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
    assert (measured.cuda, measured.own) == pytest.approx((2, 1))
    assert measured.quartiles == pytest.approx((2, 4))
    assert summarised("a call", [6e-9], [2e-9]).quartiles == pytest.approx((3, 3))


def test_a_machine_that_is_busy(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown([STEADY, UNSTEADY, FAILED], capsys) == screens.recorded("bench")


def test_a_machine_that_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert "spread widely" not in shown([STEADY, FAILED], capsys)

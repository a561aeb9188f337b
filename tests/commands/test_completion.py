"""``morph completion``, in the installed shells."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from morph.running import commands

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

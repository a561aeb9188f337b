"""Whole programs written for apex only."""

import contextlib
import io
import pathlib
import re
import runpy
import sys

import pytest
import torch

from tests.apex.mixed import amp_undone

PROGRAMS = pathlib.Path(__file__).parent / "programs"


def output_of(script: str, *arguments: str) -> str:
    """Runs a script in this process, and returns its output."""
    before, benchmark = sys.argv, torch.backends.cudnn.benchmark
    sys.argv = [script, *arguments]
    try:
        with amp_undone(), contextlib.redirect_stdout(io.StringIO()) as printed:
            runpy.run_path(str(PROGRAMS / script), run_name="__main__")
    finally:
        sys.argv, torch.backends.cudnn.benchmark = before, benchmark
    return printed.getvalue()


def accuracies(text: str) -> list[float]:
    return [float(each) for each in re.findall(r"accuracy ([\d.]+)", text)]


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_a_script_of_2019_and_its_checkpoint(level: str, tmp_path: pathlib.Path) -> None:
    saved = str(tmp_path / "checkpoint.pth")
    first = output_of("imagenet.py", "--opt-level", level, "--epochs", "1", "--save", saved)
    assert f"Selected optimization level {level}" in first
    second = output_of("imagenet.py", "--opt-level", level, "--epochs", "2", "--resume", saved)
    assert min(accuracies(second)) > 0.9

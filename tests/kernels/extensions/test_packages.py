"""A package with a CUDA extension, installed by pip; a race that a shuffled order finds; and the way back."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from tests.platforms import REPOSITORY

HERE = pathlib.Path(__file__).parent
USE = """
import torch
import halving
x = torch.randn(1000, device="cuda")
assert torch.equal(torch.ops.halving.halve(x), x / 2)
print(torch.ops.halving.halve(x).device)
"""
RACE = """
import torch
from tests.kernels.extensions.device.corpus import call
out = torch.empty(64, device="cuda", dtype=torch.int32)
call("runtime", "launch_racing", out)
print(out.unique().tolist())
"""
UNDONE = """
import morph
from torch.utils import cpp_extension
names = "CUDA_HOME", "include_paths", "library_paths", "_prepare_ldflags"
before = [getattr(cpp_extension, name) for name in names]
with morph.activated("cpu"):
    assert cpp_extension.CUDA_HOME.rpartition("/")[2].startswith("cuda-")
    assert cpp_extension.include_paths("cuda")[0] == f"{cpp_extension.CUDA_HOME}/include"
    assert cpp_extension.include_paths() == before[1]()
assert all(getattr(cpp_extension, name) is value for name, value in zip(names, before))
"""


def run(*words: object, folder: pathlib.Path, **variables: str) -> str:
    command = [sys.executable, "-m", "morph", "--backend", "cpu", *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), **variables}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
def test_pip_builds_a_package_whose_operators_are_cudas(tmp_path):
    sources = shutil.copytree(HERE / "package", tmp_path / "sources")
    options = ("--no-build-isolation", "--no-deps", "--no-index", "--quiet")
    run("-m", "pip", "install", *options, "--target", tmp_path / "installed", ".", folder=sources)
    path = os.pathsep.join([str(REPOSITORY), str(tmp_path / "installed")])
    assert run("-c", USE, folder=tmp_path, PYTHONPATH=path) == "cuda:0\n"


@pytest.mark.usefixtures("native_parts")
def test_a_shuffled_order_of_threads_finds_a_race(tmp_path):
    assert run("-c", RACE, folder=tmp_path) == "[1]\n"
    assert run("-c", RACE, folder=tmp_path, MORPH_SHUFFLE="1") == "[0, 1]\n"


@pytest.mark.usefixtures("native_parts")
def test_deactivation_restores_torchs_builder(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    subprocess.run([sys.executable, "-c", UNDONE], cwd=tmp_path, env=environment, check=True)

"""Which library of bitsandbytes for CUDA is used: one that was built under morph, and no other."""

import os
import pathlib
import subprocess
import sys

import pytest

from morph.kernels.extensions import toolkit
from tests import platforms

MODULES = {
    "cuda_specs": "def get_cuda_specs(): return 'specs'",
    "backends/cuda/ops": "own = True",
    "backends/cpu/ops": "",
}
PROGRAM = """
import torch
from bitsandbytes import cuda_specs
from bitsandbytes.backends.cuda import ops
print(cuda_specs.get_cuda_specs(), hasattr(ops, "own"))
"""


@pytest.fixture
def package(tmp_path: pathlib.Path) -> pathlib.Path:
    """The modules of bitsandbytes that morph looks at."""
    folder = tmp_path / "bitsandbytes"
    for name, text in MODULES.items():
        module = folder / f"{name}.py"
        module.parent.mkdir(parents=True, exist_ok=True)
        module.write_text(text)
        (module.parent / "__init__.py").touch()
    return folder


def used(package: pathlib.Path) -> str:
    words = [sys.executable, "-m", "morph", "--backend", "cpu", "-c", PROGRAM]
    environment = os.environ | {"PYTHONPATH": str(package.parent)}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_one_that_was_compiled_for_nvidia_is_not(package: pathlib.Path) -> None:
    (package / "libbitsandbytes_cuda130.so").write_bytes(b"\x7fELF libcudart.so.13")
    assert used(package) == "None False"


def test_one_that_was_built_under_morph_is(package: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "kernels.cu").write_text("__global__ void kernel() {}\nvoid run() { kernel<<<1, 1>>>(); }\n")
    platforms.build_native_parts()
    nvcc = toolkit.assemble().home / "bin" / "nvcc"
    library = package / "libbitsandbytes_cuda130.so"
    subprocess.run([nvcc, "-shared", "kernels.cu", "-o", library], cwd=tmp_path, check=True)
    assert used(package) == "specs True"

"""Triton's kernels in processes of their own: printing, refusals, and what deactivation restores."""

import pathlib

import pytest

from tests import origin
from tests.platforms import Platform, complete

pytest.importorskip("triton")

KERNEL = """
import torch, triton, triton.language as tl

@triton.jit
def show(x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.device_print("value", tl.load(x + i))
    tl.atomic_add(x, 1)
"""


@pytest.fixture
def kernel(tmp_path: pathlib.Path) -> pathlib.Path:
    """A file with a kernel: triton reads the source."""
    file = tmp_path / "kernel.py"
    file.write_text(KERNEL)
    return file


def append(file: pathlib.Path, text: str) -> pathlib.Path:
    file.write_text(file.read_text() + text)
    return file


def test_printing(platform: Platform, kernel: pathlib.Path) -> None:
    program = append(kernel, "show[(1,)](torch.tensor([7, 9], dtype=torch.int32).cuda(), BLOCK=2)\n")
    lines = platform.run(program).stdout.splitlines()
    assert [line.split() for line in lines] == [
        ["pid", "(0,", "0,", "0)", "idx", f"({i})", "value:", value] for i, value in ((0, "7"), (1, "9"))
    ]


def test_compiling_ahead_of_time_is_refused(platform: Platform, kernel: pathlib.Path) -> None:
    words = ["-m", "triton.tools.compile", str(kernel), "-n", "show", "-s", "*i32, 2", "-g", "1,1,1"]
    command = [*platform.command(morph=True), *words]
    done = complete(command, env=platform.environment, cwd=kernel.parent, timeout=60)
    assert "triton.tools.compile is not available to Triton kernels on the software device" in done.stderr
    assert done.returncode


def test_the_folder_of_cudas_driver_is_the_software_devices(
    platform: Platform, tmp_path: pathlib.Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text("""
import ctypes, pathlib, torch, triton
from triton.backends.nvidia.driver import libcuda_dirs

[folder] = libcuda_dirs()
driver, release = ctypes.CDLL(str(pathlib.Path(folder, "libcuda.so"))), ctypes.c_int()
print(driver.cuDriverGetVersion(ctypes.byref(release)), release.value > 0)
""")
    assert platform.run(program).stdout == "0 True\n"


@pytest.mark.long
@pytest.mark.parametrize("first", ["import triton", "import torch._dynamo"])
def test_a_compiled_function_launches_a_kernel_that_reads_a_global(
    platform: Platform, kernel: pathlib.Path, first: str
) -> None:
    kernel.write_text(f"{first}\n{KERNEL}")  # Dynamo may import triton while it is imported itself
    text = """
SCALE = tl.constexpr(3)

@triton.jit
def scale(x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i) * SCALE)

def scaled(x):
    y = x + 1
    scale[(1,)](y, BLOCK=2)
    return y * triton.cdiv(3, 2)

x = torch.tensor([7.0, 9.0], device="cuda")
for backend in ("eager", "aot_eager", "inductor"):
    compiled = torch.compile(scaled, backend=backend, fullgraph=True)
    assert compiled(x).tolist() == scaled(x).tolist() == [48, 60]
torch.compile(lambda x: x * triton.cdiv(3, 2), backend="eager", fullgraph=True)(x)
"""
    platform.run(append(kernel, text))


def test_deactivation_restores_triton(platform: Platform) -> None:
    code = (
        "import triton, morph, torch\n"
        "from triton.backends import backends\n"
        "assert backends['nvidia'].driver.__module__.startswith('morph.')\n"
        "morph.deactivate()\n"
        "assert backends['nvidia'].driver.__module__.startswith('triton.')"
    )
    origin.run(platform, code, morph=True)

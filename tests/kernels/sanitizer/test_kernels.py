"""Wrong kernels, each beside its right twin: the sanitizer finds every one, and says nothing of a twin."""

import functools
import os
import pathlib
import re
import subprocess
import sys

import pytest

from tests.platforms import REPOSITORY

KERNELS = pathlib.Path(__file__).parent / "kernels"
NAMED = re.compile(r"^(WRONG|RIGHT)\((\w+)", re.MULTILINE)
PROGRAM = """
import ctypes, subprocess, sys, torch
from torch.utils import cpp_extension
source, made, count, *names = sys.argv[1:]
command = [f"{cpp_extension.CUDA_HOME}/bin/nvcc", "-shared", source, "-o", "./kernels.so"]
subprocess.run(command, check=True)
library = ctypes.CDLL("./kernels.so")
for name in names:
    a, b = getattr(torch, made)(int(count), device="cuda"), torch.zeros(int(count), device="cuda")
    b += torch.arange(int(count), device="cuda")
    function = getattr(library, name)
    function.restype = ctypes.c_char_p
    words = [ctypes.c_void_p(a.data_ptr()), ctypes.c_void_p(b.data_ptr()), ctypes.c_int(int(count))]
    print(name, function(*words).decode().partition("\\nException raised")[0].replace("\\n", "|"))
"""
RACES = "CUDA error: race in a kernel"
ILLEGAL = "CUDA error: an illegal memory access was encountered"


def named(kind: str, twin: str) -> list[str]:
    text = (KERNELS / f"{kind}.cu").read_text()
    return [name for found, name in NAMED.findall(text) if found == twin]


def run(folder: pathlib.Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "morph", "--backend", "cpu", *words]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def outcomes(kind: str, count: int, names: list[str], folder: pathlib.Path, *options: str) -> dict[str, str]:
    """Return what each launch of a source ended with, empty for none, by the function's name."""
    words = str(KERNELS / f"{kind}.cu"), "empty" if kind == "init" else "zeros", str(count), *names
    lines = run(folder, *options, "-c", PROGRAM, *words).stdout.splitlines()
    return dict(line.partition(" ")[::2] for line in lines)


LONG = ("init", "barriers")
SIZES = {"memory": 100, "init": 100, "races": 256, "barriers": 256}


@pytest.fixture(scope="module")
def found(tmp_path_factory, native_parts):
    """Returns what each kernel of a source ended with, by its name."""

    @functools.cache
    def of(kind: str) -> dict[str, str]:
        option = "--sanitize=memory,init,race" if kind == "init" else "--sanitize"
        names = [f"{twin.lower()}_{name}" for twin in ("WRONG", "RIGHT") for name in named(kind, twin)]
        return outcomes(kind, SIZES[kind], names, tmp_path_factory.mktemp(kind), option)

    return of


@pytest.mark.parametrize("name", named("memory", "WRONG"))
def test_an_access_outside_is_found(found, name):
    text = found("memory")[f"wrong_{name}"]
    assert text.startswith("CUDA error: misaligned address: " if name.startswith("misaligned") else ILLEGAL)
    assert re.search(rf"memory\.cu:\d+ \(wrong_{name}_kernel\): ", text)
    assert re.search(r"block \[\d,0,0\], thread \[\d+,\d+,0\]$", text)


@pytest.mark.parametrize("name", named("races", "WRONG"))
def test_a_race_is_found(found, name):
    text = found("races")[f"wrong_{name}"]
    assert text.startswith(RACES)
    assert len(re.findall(rf"races\.cu:\d+ \(wrong_{name}_kernel\): ", text)) >= 2


@pytest.mark.long
@pytest.mark.parametrize("name", named("barriers", "WRONG"))
def test_a_wrong_barrier_is_found(found, name):
    error, *lines = found("barriers")[f"wrong_{name}"].split("|")
    assert re.fullmatch("CUDA error: .+ (barriers?|operation) \\(found by MORPH_SANITIZE=race\\)", error)
    assert re.match(r"  barriers\.cu:\d+ \(\w+\): thread \[\d+,0,0\] of block 0", lines[0])


@pytest.mark.long
@pytest.mark.parametrize("name", named("init", "WRONG"))
def test_a_read_of_what_was_not_written_is_found(found, name):
    first, second = found("init")[f"wrong_{name}"].split("|")
    assert first == "CUDA error: memory is read that nothing was written to (found by MORPH_SANITIZE=init)"
    where = r"( of shared memory|, \d+ bytes into an allocation of 400 bytes on cuda:0)"
    assert re.match(rf"  init\.cu:\d+ \(wrong_{name}_kernel\): a read of \d+ bytes{where}, ", second)
    assert re.search(r"block \[\d,0,0\], thread \[\d+,0,0\]$", second)


@pytest.mark.parametrize(
    "kind", ["memory", "races", *(pytest.param(each, marks=pytest.mark.long) for each in LONG)]
)
def test_nothing_is_said_of_a_right_kernel(found, kind):
    names = named(kind, "RIGHT")
    assert {name: found(kind)[f"right_{name}"] for name in names} == dict.fromkeys(names, "")


@pytest.mark.long
@pytest.mark.usefixtures("native_parts")
def test_only_what_is_asked_for_is_checked(tmp_path):
    names = ["wrong_no_barrier", "right_no_barrier"]
    assert outcomes("races", 256, names, tmp_path, "--sanitize=memory") == dict.fromkeys(names, "")


@pytest.mark.long
@pytest.mark.usefixtures("native_parts")
def test_an_address_where_nothing_is_ends_the_launch_without_the_sanitizer_too(tmp_path):
    fine = ["wrong_no_guard", "right_no_guard", "deep_recursion"]
    names = ["wrong_null_pointer", "endless_recursion", *fine]
    found = outcomes("memory", 100, names, tmp_path)
    assert found["wrong_null_pointer"].startswith(f"{ILLEGAL}: kernels.so+0x")
    assert ": nothing is at the address 0x4, block [0,0,0], thread [0,0,0]" in found["wrong_null_pointer"]
    assert ": the thread's stack is full, block [0,0,0]" in found["endless_recursion"]
    assert [found[name] for name in fine] == ["", "", ""]


@pytest.mark.long
@pytest.mark.usefixtures("native_parts")
def test_kernels_that_were_built_without_it_are_named(tmp_path):
    outcomes("races", 256, ["right_no_barrier"], tmp_path)
    again = PROGRAM.replace("subprocess.run(command, check=True)", "pass")
    words = "races.cu", "zeros", "256", "wrong_no_barrier", "right_no_barrier"
    done = run(tmp_path, "--sanitize", "-c", again, *words)
    assert done.stderr.count("kernels.so are not checked: it was built without MORPH_SANITIZE") == 1


@pytest.mark.long
@pytest.mark.usefixtures("native_parts")
def test_the_line_that_took_the_memory_is_told(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    words = "program.py", str(KERNELS / "memory.cu"), "zeros", "100", "wrong_no_guard"
    line = next(n for n, text in enumerate(PROGRAM.splitlines(), 1) if "torch.zeros" in text)
    said = run(tmp_path, "--sanitize=memory", *words).stdout
    assert (
        f"a write of 4 bytes just after an allocation of 400 bytes on cuda:0, made at program.py:{line},"
        in said
    )


LATER = """
    address = a.data_ptr()
    del a
    others = [torch.zeros(int(count), device="cuda") for _ in range(9)]
    function ="""
FREED = PROGRAM.replace("\n    function =", LATER).replace("c_void_p(a.data_ptr())", "c_void_p(address)")


@pytest.mark.long
@pytest.mark.usefixtures("native_parts")
def test_a_use_of_freed_memory_is_found_after_others_took_memory(tmp_path):
    (tmp_path / "program.py").write_text(FREED)
    words = "program.py", str(KERNELS / "memory.cu"), "zeros", "100", "right_no_guard"
    lines = FREED.splitlines()
    made, freed = (next(n for n, text in enumerate(lines, 1) if word in text) for word in ("a, b =", "del a"))
    said = run(tmp_path, "--sanitize=memory", *words).stdout
    assert (
        "a write of 4 bytes in what was an allocation of 400 bytes on cuda:0, "
        f"made at program.py:{made}, freed at program.py:{freed}, block [0,0,0], thread [0,0,0]"
    ) in said


@pytest.mark.parametrize("words", [["--sanitize=bounds"], ["--sanitize=race,"]])
def test_an_unknown_check_is_refused(words, tmp_path):
    command = [sys.executable, "-m", "morph", *words, "-c", "pass"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--sanitize: what is checked must be of memory, init, race, sync, host, leak, not " in done.stderr


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            ["--rehearse", "npu", "--sanitize"],
            "MORPH_SANITIZE: kernels and memory are checked on the software device, ",
        ),
        (
            ["--backend", "cpu"],
            "MORPH_SANITIZE: what is checked must be of memory, init, race, sync, host, leak, not 'bounds'",
        ),
    ],
)
def test_what_cannot_be_checked_is_refused(options, problem, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "MORPH_SANITIZE": "bounds"}
    command = [sys.executable, "-m", "morph", *options, "-c", "import torch"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert problem in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
@pytest.mark.usefixtures("native_parts")
@pytest.mark.parametrize("fault", ["os.kill(os.getpid(), 11)", "ctypes.string_at(8)"])
def test_a_fault_of_the_host_ends_the_process_as_ever(tmp_path, fault):
    outcomes("memory", 100, ["right_no_guard"], tmp_path)
    again = PROGRAM.replace("subprocess.run(command, check=True)", "pass") + f"import os\n{fault}\n"
    command = [
        sys.executable,
        "-m",
        "morph",
        "-q",
        "--backend",
        "cpu",
        "-c",
        again,
        "memory.cu",
        "zeros",
        "100",
        "right_no_guard",
    ]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == -11


TWICE = """
#include <cuda_runtime.h>
#include <exception>
#include <string>
template <int N>
__device__ inline int total(int value) {
  __shared__ int kept[N];
  kept[threadIdx.x] = value;
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < N; i++) sum += kept[i];
  return sum;
}
__global__ void totals(int* result) { result[blockIdx.x] = total<32>(threadIdx.x) + blockIdx.x; }
extern "C" const char* launch(int* result) {
  static std::string found;
  try {
    totals<<<4, 32>>>(result);
    found = "";
  } catch (const std::exception& error) {
    found = error.what();
  }
  return found.c_str();
}
"""
BOTH = """
import ctypes, shutil, subprocess, torch
from torch.utils import cpp_extension
for name in ("one", "two"):
    command = [f"{cpp_extension.CUDA_HOME}/bin/nvcc", "-shared", "twice.cu", "-o", f"./{name}.so"]
    subprocess.run(command, check=True)
    launch = ctypes.CDLL(f"./{name}.so").launch
    launch.restype = ctypes.c_char_p
    result = torch.zeros(4, dtype=torch.int32, device="cuda")
    print(launch(ctypes.c_void_p(result.data_ptr())).decode(), result.tolist())
"""


@pytest.mark.long
def test_libraries_with_the_same_function_have_their_own_shared_memory(tmp_path, native_parts):
    (tmp_path / "twice.cu").write_text(TWICE)
    assert run(tmp_path, "--sanitize", "-c", BOTH).stdout == " [496, 497, 498, 499]\n" * 2

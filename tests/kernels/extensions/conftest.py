"""The toolkit, for programs in CUDA C++ that are built and run as processes."""

import os
import pathlib
import subprocess
import sys

import pytest

from tests.kernels.extensions.fuzzing.functions import PRELUDE
from tests.platforms import REPOSITORY

HEAD = f"""#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cstdio>
#include <cstring>
#include <type_traits>
{PRELUDE}
template <class T> __device__ void show(T x) {{
  unsigned long long code = 0;
  std::memcpy(&code, &x, sizeof x);
  printf("%llx\\n", code);
}}
"""


@pytest.fixture(scope="module")
def toolkit(native_parts) -> pathlib.Path:
    command = [sys.executable, "-m", "morph", "toolkit"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPOSITORY)
    return pathlib.Path(done.stdout.strip())


@pytest.fixture
def run(toolkit, tmp_path):
    """Runs a command in a folder of its own, with the toolkit as another CUDA's would be."""

    def run(*words, status=0, **variables):
        path = f"{toolkit / 'bin'}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "OF_TEST": "of the test", **variables}
        given = {"cwd": tmp_path, "env": environment, "input": "input", "capture_output": True, "text": True}
        done = subprocess.run(list(map(str, words)), **given, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return done

    return run


@pytest.fixture
def codes_of(run, tmp_path):
    """Returns the bits that calls in a kernel return, which are given with their types."""

    def codes_of(calls):
        lines = [f"  show<{type}>({call});" for type, call in calls]
        kernels = [lines[first : first + 200] for first in range(0, len(lines), 200)]
        text = [HEAD]
        for number, part in enumerate(kernels):
            text += [f"__global__ void kernel{number}() {{", *part, "}"]
        text += ["int main() {", *(f"  kernel{number}<<<1, 1>>>();" for number in range(len(kernels)))]
        (tmp_path / "calls.cu").write_text("\n".join([*text, "  return cudaDeviceSynchronize();", "}", ""]))
        run("nvcc", "-O1", "calls.cu", "-o", "calls")
        return [int(line, 16) for line in run("./calls").stdout.split()]

    return codes_of

"""The first start builds all that later ones load; a build that is killed, or slow, harms nobody."""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib.metadata import version

import pytest

from morph.activation import building
from morph.backends.tables import table
from morph.base import native
from morph.kernels.triton.registration import OLDEST
from tests.native.test_building import folders
from tests.platforms import REPOSITORY, Platform, complete

pytestmark = [pytest.mark.long, pytest.mark.platforms("cpu")]
PROGRAMS = REPOSITORY / "tests" / "programs"

# compiles kernels, as programs may at any time, and none of morph's own parts
COMPILER = '#!/bin/sh\ncase "$*" in */native/objects/*) echo "$@" >> {log}; exit 1;; esac\nexec c++ "$@"\n'
COMPILED = """
import torch
step = torch.compile(lambda x: (x * 2 + 1).relu().sum())
assert step(torch.ones(64, device="cuda")) == 192
"""
LISTED = "import subprocess; print(subprocess.run(['nvidia-smi', '-L'], check=True))"
KERNEL = """
import torch, triton, triton.language as tl

@triton.jit
def double(into, n: tl.constexpr):
    at = tl.arange(0, n)
    tl.store(into + at, tl.load(into + at) * 2)

x = torch.ones(16, device="cuda")
double[(1,)](x, 16)
assert x.sum() == 32
"""
EXTENSION = """
import torch
from torch.utils.cpp_extension import load_inline
source = '''
#include <torch/library.h>
__global__ void twice(float* x) { x[threadIdx.x] *= 2; }
void run(at::Tensor x) { twice<<<1, x.numel()>>>(x.data_ptr<float>()); }
TORCH_LIBRARY(first_start, m) { m.def("run(Tensor(a!) x) -> ()", &run); }
'''
load_inline("first_start", "", source, is_python_module=False, no_implicit_headers=True)
x = torch.ones(16, device="cuda")
torch.ops.first_start.run(x)
assert x.sum() == 32
"""


def morph(*words: object, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "morph", *map(str, words)]
    return complete(command, env=environment, timeout=600)


def copy_parts(cache: pathlib.Path) -> None:
    """Copy what the tests' cache holds of the first start's parts, and nothing else, to another cache."""
    for library in building.libraries(table.facts("cpu")):
        built, folder = native.provide(library), (cache / "native" / library.place).parent
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for file in (built, built.with_name(f"{built.name}.digest")):
            shutil.copy2(file, folder)


def test_nothing_is_compiled_after_the_first_start(platform: Platform, tmp_path: pathlib.Path) -> None:
    copy_parts(tmp_path / "cache")
    environment = {
        **platform.environment,
        "MORPH_CACHE": str(tmp_path / "cache"),
        "TORCH_EXTENSIONS_DIR": str(tmp_path / "extensions"),
        "TRITON_CACHE_DIR": str(tmp_path / "triton"),
    }
    built = morph("build", environment=environment)
    assert built.returncode == 0, built.stderr
    assert "compiling" not in built.stderr
    compiler, log = tmp_path / "compiler", tmp_path / "log"
    compiler.write_text(COMPILER.format(log=log))
    compiler.chmod(0o755)
    environment["CXX"] = str(compiler)
    (tmp_path / "kernel.py").write_text(KERNEL)
    runs: dict[str, list[object]] = {
        "digits": [PROGRAMS / "digits.py", "--epochs", 1],
        "DDP": ["-m", "torch.distributed.run", "--nproc-per-node", 2, PROGRAMS / "ddp.py"],
        "a rehearsal": ["--rehearse", "npu", "-c", "import torch; torch.ones(2).cuda()"],
        "torch.compile": ["-c", COMPILED],
        "nvidia-smi": ["-c", LISTED],
        "a Triton kernel": [tmp_path / "kernel.py"],
        "an extension": ["-c", EXTENSION],
    }
    if tuple(map(int, version("triton").split(".")[:2])) < OLDEST:  # that of torch 2.7; a launch is refused
        del runs["a Triton kernel"]
    for name, words in runs.items():
        done = (
            morph("--backend", "cpu", *words, environment=environment)
            if name != "a rehearsal"
            else morph(*words, environment=environment)
        )
        assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"
        assert "compiling" not in done.stderr, name
        assert not log.exists(), f"{name}: {log.read_text()}"


def test_a_first_start_that_is_killed_again_and_again(platform: Platform, tmp_path: pathlib.Path) -> None:
    environment = {**platform.environment, "MORPH_CACHE": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "morph", "--backend", "cpu", "-c", "print('started')"]
    moments = random.Random(0)
    for _ in range(10):
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        time.sleep(moments.uniform(2, 8))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert compilers(tmp_path) == []
    done = complete(command, env=environment, timeout=600)
    assert done.stdout == "started\n", done.stderr


def compilers(folder: pathlib.Path) -> list[str]:
    """Return the command lines of compilers that work below a folder, a moment after their parent's end."""
    for _ in range(100):
        found = complete(["pgrep", "-af", f"cc1plus.*{folder}"]).stdout
        if not found:
            break
        time.sleep(0.1)
    return found.splitlines()


SLOW = """#!/bin/sh
echo begun >> "$0.log"
[ "$SLOW" = 0 ] || sleep "$SLOW"
c++ "$@" && echo done >> "$0.log"
"""


def test_a_builder_of_low_priority_gives_way(platform: Platform, source: pathlib.Path) -> None:
    from tests.native.test_building import BUILD

    compiler = source.parents[1] / "slow"
    compiler.write_text(SLOW)
    compiler.chmod(0o755)
    log = pathlib.Path(f"{compiler}.log")
    environment = {**platform.environment, **folders(source), "CXX": str(compiler)}

    def start(niceness: int) -> subprocess.Popen[str]:
        command = ["nice", "-n", str(niceness), *platform.command(morph=False), "-c", BUILD, str(source)]
        own = {**environment, "SLOW": "300" if niceness else "0"}  # the compiler ends when it is ended
        return subprocess.Popen(command, env=own, stdout=subprocess.PIPE, text=True)

    low = start(10)
    while not log.exists():
        assert low.poll() is None
        time.sleep(0.02)
    others = [start(0) for _ in range(4)]
    outputs = [process.communicate(timeout=300)[0] for process in [low, *others]]
    assert all(output.splitlines()[-1].startswith("probe ") for output in outputs), outputs
    turns = log.read_text().split()
    assert turns == ["begun", "begun", "done", "begun", "done"], "another compiled and linked it, once"
    niceness = min(os.getpriority(os.PRIO_PROCESS, 0) + 10, 19)
    assert any(f"(of low priority, nice {niceness})" in output for output in outputs[1:]), outputs

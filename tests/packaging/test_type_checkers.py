"""What mypy reports about the served packages when run by the commands of aliases/README.md."""

import os
import pathlib
import re
import sys

import pytest

from tests.installation import FreshEnvironment
from tests.platforms import REPOSITORY, complete
from tests.type_check import PACKAGE, lay_out, write_stubs

README = REPOSITORY / "aliases" / "README.md"
RIGHT = """\
import pynvml
import torch
from apex.optimizers import FusedAdam
from flash_attn import flash_attn_func

q = torch.ones(1, 8, 2, 64)
out = flash_attn_func(q, q, q, causal=True)
optimizer = FusedAdam(torch.nn.Linear(2, 2).parameters(), lr=0.1)
try:
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    free: int = pynvml.nvmlDeviceGetMemoryInfo(handle).free
    celsius = pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)
    process = pynvml.c_nvmlProcessInfo_t(pid=1)
    process.usedGpuMemory = pynvml.c_ulonglong(3).value
except pynvml.NVMLError_NotSupported as error:
    code: int = error.value
"""
WRONG = {
    "flash_attn_func(q, q, 3)": "arg-type",
    "flash_attn_func(q, q, q, casual=True)": "call-arg",
    "FusedAdam(torch.nn.Linear(2, 2).parameters(), lr='fast')": "arg-type",
    "pynvml.nvmlDeviceGetMemoryInof(handle)": "attr-defined",
    "pynvml.nvmlDeviceGetMemoryInfo()": "call-arg",
    "pynvml.NVML_TEMPERATURE_GPU.upper()": "attr-defined",
}


def check(program: str, python: pathlib.Path, folder: pathlib.Path, *more: pathlib.Path) -> list[str]:
    """Returns what mypy reports about a program when run by the commands of the documentation."""
    (folder / "program.py").write_text(program)
    (commands,) = re.findall(r"```sh\n(ln [^`]*MYPYPATH[^`]*)```", README.read_text())
    search = ":".join(["$MYPYPATH", *map(str, more)])
    cache = REPOSITORY / ".mypy_cache" / "users"
    mypy = f"MYPYPATH={search} python -m mypy --strict --no-error-summary --cache-dir {cache} program.py"
    variables = {**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}"}
    variables["PYTHONPATH"] = ":".join(map(str, more))
    script = ["bash", "-ec", commands + mypy]
    done = complete(script, env=variables, cwd=folder)
    assert not done.stderr
    return done.stdout.splitlines()


def expect_errors(python: pathlib.Path, folder: pathlib.Path, *more: pathlib.Path) -> None:
    """Checks that mypy accepts the right calls and reports each wrong one."""
    assert check(RIGHT, python, folder, *more) == []
    found = check("\n".join([RIGHT, *WRONG, ""]), python, folder, *more)
    told = [line for line in found if ": error: " in line]
    first = len(RIGHT.splitlines()) + 2
    assert [int(line.split(":")[1]) for line in told] == [*range(first, first + len(WRONG))], found
    assert [line.rpartition("[")[2].rstrip("]") for line in told] == [*WRONG.values()]


@pytest.mark.long
def test_in_a_checkout(tmp_path: pathlib.Path) -> None:
    lay_out()
    write_stubs()
    expect_errors(pathlib.Path(sys.executable), tmp_path, PACKAGE.parent)


@pytest.mark.long
def test_of_an_installed_wheel(fresh_environment: FreshEnvironment, tmp_path: pathlib.Path) -> None:
    expect_errors(fresh_environment.python, tmp_path)

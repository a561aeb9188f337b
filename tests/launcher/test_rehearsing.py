"""A rehearsal whose own device cannot be built blames no vendor."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from tests import platforms

PROGRAM = 'print("begun")\nimport torch\nprint(torch.ones(2, device="cuda").device)\n'
MISSING = "no-such-compiler"


def rehearse(vendor: str, folder: pathlib.Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**platforms.platform("cpu", {}).environment, "CXX": MISSING, **variables}
    command = [sys.executable, "-m", "morph", "--rehearse", vendor, "--json", "found.json", "program.py"]
    (folder / "program.py").write_text(PROGRAM)
    return platforms.complete(command, env=environment, cwd=folder, timeout=300)


def empty_cache(folder: pathlib.Path) -> dict[str, str]:
    return {"MORPH_CACHE": os.fspath(folder / "cache"), "TMPDIR": os.fspath(folder)}


@pytest.mark.parametrize("vendor", ["npu", "all"])
def test_without_a_compiler_no_program_begins(vendor: str, tmp_path: pathlib.Path) -> None:
    done = rehearse(vendor, tmp_path, **empty_cache(tmp_path))
    assert (done.returncode, done.stdout) == (2, ""), platforms.describe(done)
    assert done.stderr == (
        "morph: the rehearsal itself needs a C++ compiler, once, to build its device: "
        f"{MISSING} (CXX) not found; install g++\n"
    )


@pytest.mark.long
@pytest.mark.usefixtures("native_parts")
def test_a_device_that_is_built_needs_no_compiler(tmp_path: pathlib.Path) -> None:
    done = rehearse("npu", tmp_path)
    assert (done.returncode, done.stdout) == (0, "begun\ncuda:0\n"), platforms.describe(done)


def test_a_compiler_that_refuses(tmp_path: pathlib.Path) -> None:
    refuses = shutil.which("false")
    assert refuses is not None
    done = rehearse("npu", tmp_path, CXX=refuses, **empty_cache(tmp_path))
    assert (done.returncode, done.stdout) == (2, "begun\n"), platforms.describe(done)
    assert "would stop" not in done.stderr
    assert "on Huawei Ascend it is not known to run: the rehearsal ended: the C++ part" in done.stderr
    assert json.loads((tmp_path / "found.json").read_text())["verdict"] == "unknown"

"""The folder with nvidia-smi is on PATH while morph is active, and never before one that works."""

import os
import pathlib
import subprocess
import sys

import pytest

from morph.kernels.nvidia_smi import launcher

PROGRAM = """
import os, shutil, subprocess
before = shutil.which("nvidia-smi"), dict(os.environ)
import morph
with morph.activated():
    inside = shutil.which("nvidia-smi")
    said = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout
assert dict(os.environ) == before[1]
print(before[0], inside is not None, said.count("UUID"))
"""


def run(*words: str, **variables: str) -> str:
    environment = {**os.environ, "MORPH_BACKEND": "cpu", **variables}
    done = subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.usefixtures("native_parts")
def test_is_found_while_morph_is_active():
    assert run("-c", PROGRAM, MORPH_DEVICES="3") == "None True 3"


def test_is_found_before_torch_is_imported():
    code = "import subprocess; print(subprocess.check_output(['nvidia-smi', '-L'], text=True).count('UUID'))"
    assert run("-m", "morph", "--devices", "2", "-c", code) == "2"


def test_imports_no_torch(tmp_path: pathlib.Path):
    (tmp_path / "torch.py").write_text("raise SystemExit('imported torch')")
    program = launcher.folder() / "nvidia-smi"
    source = (
        program.with_name("nvidia_smi.py").read_text().replace("[:1] = [", f"[:1] = [{str(tmp_path)!r}, ")
    )
    (tmp_path / "program.py").write_text(source)
    assert "UUID" in run("-sS", str(tmp_path / "program.py"), "-L")


def test_finds_packages_that_come_by_pythonpath(tmp_path: pathlib.Path, monkeypatch):
    (tmp_path / "psutil").mkdir()
    (tmp_path / "psutil" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert str(tmp_path) in (launcher.folder() / "nvidia_smi.py").read_text()


def test_one_that_cannot_work_comes_second(tmp_path: pathlib.Path, monkeypatch):
    other = tmp_path / "nvidia-smi"
    other.write_text("#!/bin/sh\nexit 9\n")
    other.chmod(0o755)
    own, both = str(launcher.folder()), f"/usr/bin:{tmp_path}"
    assert put_on(both) == put_on(put_on(both)) == f"{own}:{both}"
    assert put_on("/usr/bin") == f"/usr/bin:{own}"
    monkeypatch.setattr(launcher, "_DRIVER", (str(other),))
    assert put_on(both) == both


def put_on(path: str) -> str:
    environment = {"PATH": path}
    launcher.put_on_path(environment)
    return environment["PATH"]

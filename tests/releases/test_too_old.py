"""A torch that is older than what morph needs is told in one line, by whatever meets it first."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

from morph.backends import torch_release
from morph.base import toml
from tests.platforms import REPOSITORY, complete

SAID = "torch 2.6.0+cpu is too old: morph needs torch 2.7 or newer"


@pytest.fixture
def old_torch(tmp_path: pathlib.Path) -> dict[str, str]:
    """The environment of processes in which the installed torch says that it is 2.6.0."""
    [installed] = importlib.util.find_spec("torch").submodule_search_locations
    package, version = tmp_path / "torch", (pathlib.Path(installed) / "version.py").read_text()
    package.mkdir()
    for entry in pathlib.Path(installed).iterdir():
        if entry.name not in ("__init__.py", "__pycache__", "version.py"):
            (package / entry.name).symlink_to(entry)
    (package / "__init__.py").write_bytes((pathlib.Path(installed) / "__init__.py").read_bytes())
    (package / "version.py").write_text(f"{version}\n__version__ = '2.6.0+cpu'\n")
    (tmp_path / "torch-2.6.0.dist-info").mkdir()
    (tmp_path / "torch-2.6.0.dist-info" / "METADATA").write_text("Name: torch\nVersion: 2.6.0+cpu\n")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MORPH_")}
    return {**inherited, "PYTHONPATH": f"{tmp_path}:{REPOSITORY}"}


def run(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *words]
    return complete(command, env=environment)


def test_the_launcher(old_torch: dict[str, str]) -> None:
    done = run(old_torch, "-m", "morph", "-c", "import torch; print(torch.zeros(1, device='cuda'))")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"morph: {SAID}\n")


def test_code(old_torch: dict[str, str]) -> None:
    done = run(old_torch, "-c", "import morph; morph.activate('cpu')")
    assert done.stderr.splitlines()[-1] == f"morph.base.errors.ActivationError: {SAID}"


def test_an_enabled_environment(old_torch: dict[str, str]) -> None:
    program = "import morph; morph.wait_for_torch(); import torch; print(torch.ones(1).sum().item())"
    done = run(old_torch, "-c", program)
    assert (done.returncode, done.stdout) == (0, "1.0\n")
    assert done.stderr == f"morph: not active in this process: {SAID}\n"


def test_info_and_doctor(old_torch: dict[str, str]) -> None:
    done = run(old_torch, "-m", "morph", "info")
    assert (done.returncode, done.stderr) == (1, "")
    assert f"cuda is nothing: {SAID}" in done.stdout
    done = run(old_torch, "-m", "morph", "doctor", "--json")
    assert (done.returncode, done.stderr) == (2, "")
    [first, *others] = json.loads(done.stdout)["findings"]
    assert (first["severity"], first["problem"]) == ("error", SAID)
    assert not any(SAID in other["problem"] for other in others)


def test_it_is_what_the_metadata_say() -> None:
    project = toml.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert "torch>={}.{}".format(*torch_release.OLDEST) in project["dependencies"]

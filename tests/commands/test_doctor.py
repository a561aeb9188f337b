"""``morph doctor`` prints what a report of a bug needs, and what is wrong."""

import json
import os
import pathlib
import platform as host_platform
import subprocess
import sys

import pytest
import torch

from morph import __version__
from morph.base.display import console
from morph.running.commands import doctor as command
from morph.running.diagnosis import description
from tests.platforms import REPOSITORY, Platform, describe

SECTIONS = ["environment", "backends", "cuda", "packages", "native parts", "settings", "variables"]


def doctor(platform: Platform, *words: str, **options: object) -> subprocess.CompletedProcess[str]:
    started = [sys.executable, "-m", "morph", "doctor", *words]
    return subprocess.run(started, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


@pytest.mark.platforms("cpu")
def test_what_a_report_needs(
    platform: Platform, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "morph.toml").write_text('backend = "cpu"\n')
    variables = {"CUDA_VISIBLE_DEVICES": "0", "TORCH_SECRET_TOKEN": "hidden", "HOME": str(tmp_path)}
    done = doctor(platform, "--json", cwd=tmp_path, env={**platform.environment, **variables})
    assert done.returncode < 2, describe(done)
    told = json.loads(done.stdout)["description"]
    assert [*told] == SECTIONS
    assert told["environment"]["morph"] == f"{__version__}, {REPOSITORY / 'morph'}"
    assert told["environment"]["torch"] == torch.__version__
    assert told["environment"]["Python"].startswith(f"{host_platform.python_version()}, CPython, ")
    assert host_platform.release() in told["environment"]["system"]
    assert "(" in told["environment"]["compiler"]  # the first line of its --version
    assert told["backends"]["cpu"].endswith("; devices: 1")
    assert told["cuda"]["backend"] == "cpu: no accelerator's device is available"
    assert told["packages"]["wrapt"]
    assert told["packages"]["flash_attn"].startswith("served by morph as ")
    assert "software_device-" in told["native parts"]["loaded"]
    assert "software_device" in told["native parts"]["cache"]
    assert told["settings"]["backend"] == "cpu (~/morph.toml:1)"
    assert told["variables"]["CUDA_VISIBLE_DEVICES"] == "0"
    assert "hidden" not in done.stdout
    command._print_description(told, console())
    printed = capsys.readouterr().out
    for title, section in told.items():
        for name, text in section.items():
            assert f"  {name}: {text}\n" in printed, title


@pytest.mark.platforms("cpu")
@pytest.mark.parametrize(
    ("backend", "remedy"),
    [
        pytest.param("", "put that right, and run morph doctor again", marks=pytest.mark.long),
        ("cpu", "unset MORPH_BACKEND, or repair the installation of that device"),
    ],
)
def test_a_machine_without_a_compiler(
    platform: Platform, tmp_path: pathlib.Path, backend: str, remedy: str
) -> None:
    nowhere = {"PATH": str(tmp_path), "MORPH_CACHE": str(tmp_path), "TMPDIR": str(tmp_path), "CXX": ""}
    environment = {**platform.environment, **nowhere, "MORPH_BACKEND": backend}
    done = doctor(platform, "--json", env=environment)
    found = json.loads(done.stdout)
    first = found["findings"][0]
    assert (done.returncode, first["severity"]) == (2, "error"), describe(done)
    missing = "no C++ compiler: c++, g++, clang++ not found; install g++"
    assert missing in first["problem"]
    assert first["remedy"] == remedy
    assert found["description"]["environment"]["compiler"] == missing


@pytest.mark.parametrize(
    ("name", "is_told"),
    [
        ("MORPH_CACHE", True),
        ("ASCEND_RT_VISIBLE_DEVICES", True),
        ("NCCL_DEBUG", True),
        ("PYTHONPATH", True),
        ("CXX", True),
        ("PATH", False),
        ("HF_TOKEN", False),
        ("CUDA_API_KEY", False),
        ("ZED", False),
    ],
)
def test_the_variables_that_matter(name: str, is_told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "value")
    assert (name in description._variables()) is is_told


def test_the_home_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    said = "/home/me/a:/home/me, /home/mean /home/me"
    assert description._without_home(said) == "~/a:~, /home/mean ~"
    monkeypatch.setenv("HOME", "/")
    assert description._without_home("/a") == "/a"
    assert os.path.expanduser("~") == "/"

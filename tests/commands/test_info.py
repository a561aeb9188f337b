"""``morph info`` and ``morph doctor`` report the real state of the machine."""

import dataclasses
import json
import re
import subprocess
import sys
from typing import Any

import pytest
import torch

from morph.base import display
from morph.running.commands import info
from morph.running.diagnosis import Activation, Device, Package, Presence, Survey, processes
from morph.running.diagnosis.findings import Severity, findings
from tests.commands import screens, terminal
from tests.platforms import Platform, complete, describe


def command(platform: Platform, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return complete([sys.executable, "-m", "morph", *words], env={**platform.environment, **variables})


@pytest.mark.platforms("npu")
def test_the_vendor_s_device_is_shown(
    platform: Platform, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done = command(platform, "info", "--json")
    assert done.returncode == 0, describe(done)
    found = json.loads(done.stdout)
    assert found["torch"] == torch.__version__
    [npu] = [each for each in found["backends"] if each["name"] == "npu"]
    assert (npu["version"], npu["devices"], npu["absence"]) == ("2.13.0", 2, None)
    assert found["activation"]["backend"] == "npu"
    assert [each["name"] for each in found["activation"]["devices"]] == ["Ascend910B1"] * 2
    assert found["reason"] == "the first backend whose device is there"
    assert done.stderr == ""
    monkeypatch.setattr(display, "WIDTH", terminal.WIDTH)
    info._print(_survey(found))
    shown = "".join(f"{line.rstrip()}\n" for line in capsys.readouterr().out.splitlines())
    assert screens.steady(shown) == screens.steady(screens.recorded("info"))


@pytest.mark.needs("pynvml")
@pytest.mark.platforms("cpu")
@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        pytest.param({}, "no accelerator's device is available", marks=pytest.mark.long),
        ({"MORPH_BACKEND": "cpu"}, "MORPH_BACKEND selects it"),
    ],
)
def test_why_a_machine_without_an_accelerator_gets_the_cpu(
    platform: Platform, variables: dict[str, str], reason: str
) -> None:
    found = json.loads(command(platform, "info", "--json", **variables).stdout)
    assert (found["activation"]["backend"], found["reason"]) == ("cpu", reason)
    assert len(found["activation"]["devices"]) == 2
    absences = {each["name"]: each["absence"] for each in found["backends"]}
    assert absences["mlu"] == "torch_mlu is not installed"
    assert (absences["rocm"], absences["cpu"]) == ("this torch is not built for it", None)
    [pynvml] = [each for each in found["packages"] if each["name"] == "pynvml"]
    assert pynvml["problem"].startswith("OSError: libnvidia-ml.so.1: ")


@pytest.mark.parametrize(
    ("said", "last"), [("Traceback\nSystemExit: gone\n", "SystemExit: gone"), ("", "exit status -9")]
)
def test_the_last_words_of_a_vendor_that_ends_the_process(
    monkeypatch: pytest.MonkeyPatch, said: str, last: str
) -> None:
    ended = subprocess.CompletedProcess[str]([], -9, "no answer\n", said)
    monkeypatch.setattr(processes, "run", lambda *words: ended)
    assert processes.ask("npu") == {"devices": 0, "absence": f"looking for it ended with: {last}"}


def _survey(found: dict[str, Any]) -> Survey:
    """Returns the survey that was printed as JSON."""
    chosen = found["activation"]
    devices = tuple(Device(**each) for each in chosen.pop("devices"))
    return Survey(
        **{
            **found,
            "backends": tuple(Presence(**each) for each in found["backends"]),
            "activation": Activation(**chosen, devices=devices),
            "packages": tuple(Package(**each) for each in found["packages"]),
        }
    )


@pytest.mark.needs("torch_npu", "pynvml")
@pytest.mark.platforms("cpu")
def test_a_broken_vendor_is_told_in_a_line_and_with_a_remedy(platform: Platform) -> None:
    shown, _, severity = terminal.run("doctor", environment={**platform.environment, **screens.BROKEN})
    problems = screens.steady(shown).partition("\nproblems\n")[2]
    assert problems == screens.recorded("doctor")
    assert severity == Severity.WARNING
    assert max(map(len, shown.splitlines())) <= terminal.WIDTH
    assert shown.startswith("environment\nmorph ")
    assert re.search(rf"^torch +{re.escape(torch.__version__)}$", shown, re.MULTILINE)
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown


NPU = Presence("npu", "Huawei Ascend", "torch-npu", "2.13.0", "2.13.0", True, 2, None)
MLU = Presence("mlu", "Cambricon", "torch_mlu", None, "1.33.1", False, 0, "torch_mlu is not installed")
WELL = Survey(
    "0.1.0", "3.11", "Linux", "2.13.0+cpu", (NPU, MLU), Activation("npu", "native", None, ()), "", ()
)


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MORPH_BACKEND", "CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)


def problems(survey: Survey) -> list[tuple[Severity, str]]:
    return [(each.severity, each.problem) for each in findings(survey)]


def test_nothing_is_wrong() -> None:
    assert findings(WELL) == []


def test_what_is_wrong_is_found() -> None:
    both = dataclasses.replace(MLU, installed=True, version="1.33.1", devices=1, absence=None)
    assert problems(dataclasses.replace(WELL, backends=(NPU, both))) == [
        (Severity.WARNING, "devices of several vendors are present: npu, mlu; npu is used")
    ]
    tested = "2.7.1.post11, 2.8.0.post5, 2.9.1, 2.10.0.post7, 2.11.0.post3, 2.12.0.post3, 2.13.0, 2.14.0"
    newer = dataclasses.replace(NPU, version="2.16.0")
    assert problems(dataclasses.replace(WELL, backends=(newer,))) == [
        (Severity.WARNING, f"torch-npu 2.16.0 is installed; morph was checked with {tested}")
    ]
    nothing = dataclasses.replace(WELL, torch=None, activation=Activation(None, None, "no such backend", ()))
    assert problems(nothing) == [(Severity.ERROR, "torch is not installed")]
    none = dataclasses.replace(WELL, activation=Activation(None, None, "no such backend", ()))
    assert problems(none) == [(Severity.ERROR, "no backend can be used: no such backend")]
    assert problems(dataclasses.replace(WELL, torch="2.9.1+cu128")) == []
    tested = "2.7.1, 2.8.0, 2.9.1, 2.10.0, 2.11.0, 2.12.1, 2.13.0, 2.14.1"
    new = dataclasses.replace(WELL, torch="2.99.0")
    assert problems(new) == [
        (Severity.WARNING, f"torch 2.99.0 is installed; morph was checked with {tested}")
    ]
    old = dataclasses.replace(WELL, torch="2.6.0")
    assert problems(old) == [(Severity.ERROR, "torch 2.6.0 is too old: morph needs torch 2.7 or newer")]
    misfit = dataclasses.replace(WELL.activation, skipped={"torch:split_group": "LookupError: no backend"})
    assert problems(dataclasses.replace(WELL, activation=misfit)) == [
        (
            Severity.NOTE,
            "torch:split_group is not served with torch 2.13.0+cpu: LookupError: no backend",
        )
    ]
    broken = Package("pynvml", "13.0", "13.1", "OSError: libnvidia-ml.so.1")
    [(severity, problem)] = problems(dataclasses.replace(WELL, packages=(broken,)))
    assert severity == Severity.NOTE
    assert problem == "pynvml 13.1 is installed but cannot load: OSError: libnvidia-ml.so.1"
    slow = dataclasses.replace(WELL, activation=Activation("npu", "python", None, (), "no g++"))
    assert problems(slow) == [(Severity.WARNING, "the slower Python seam is used: no g++")]


def test_variables_that_contradict_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("MORPH_BACKEND", "npu")
    assert problems(WELL) == [
        (Severity.WARNING, "CUDA_VISIBLE_DEVICES='' hides every device, but MORPH_BACKEND=npu asks for one")
    ]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "0")
    assert problems(WELL) == [
        (
            Severity.WARNING,
            "ASCEND_RT_VISIBLE_DEVICES=0 and CUDA_VISIBLE_DEVICES=1 differ; the vendor's own counts",
        )
    ]

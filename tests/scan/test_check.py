"""`morph check`: its output in each form, and its exit status."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from morph.launcher.command import main
from morph.tables import table
from tests.commands import terminal

SERVED = "import torch\ntorch.cuda.synchronize()\nx = torch.ones(2).cuda()\n"
TO_LOOK_AT = f"{SERVED}if torch.cuda.get_device_capability() >= (8, 0):\n    torch.cuda.gds\n"


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "served.py").write_text(SERVED)
    (tmp_path / "look.py").write_text(TO_LOOK_AT)
    (tmp_path / "broken.py").write_text("x = 1\ny = (\n")
    return tmp_path


def status(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["check", *words])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_exit_status(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status("served.py") == 0
    assert status("look.py") == status("broken.py") == status(".") == 1
    assert status("--backend", "rocm", "served.py") == 0
    (folder / "gds.py").write_text("import torch\ntorch.cuda.gds\n")
    assert status("--backend", "npu", "gds.py") == 1
    assert status("--backend", "rocm", "gds.py") == 0
    capsys.readouterr()
    for words in ((), ("absent.py",), ("-p", "no_such_package"), ("--backend", "abacus", "served.py")):
        assert status(*words) == 2
    assert status("--no-such-option", "served.py") == 2
    assert status("--sarif", "no/such/folder.sarif", "served.py") == 2
    errors = capsys.readouterr().err
    assert "morph: there is no file or folder 'absent.py' to scan\n" in errors
    assert "morph: cannot write no/such/folder.sarif: No such file or directory\n" in errors
    assert "morph: there is no package 'no_such_package' to scan\n" in errors


def test_text(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(".") == 1
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    count = len(table.backend_names())
    assert ["2", "torch.cuda.synchronize", *["yes"] * count] in [line.split() for line in lines]
    assert ["4", "torch.cuda.get_device_capability", *["look"] * count] in [line.split() for line in lines]
    assert "look.py:4: torch.cuda.get_device_capability: a decision by the generation of an NVIDIA GPU" in [
        line.partition(" (")[0] for line in lines
    ]
    assert any(line.startswith("look.py:5: torch.cuda.gds is missing on ") for line in lines)
    assert "broken.py:2: '(' was never closed" in lines
    assert lines[-1] == "7 uses of CUDA in 2 of 3 files, 0 with differences, 2 to look at, 1 file not read"


def test_text_of_one_backend_says_what_is_different(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status("--backend", "cpu", "served.py")
    lines = capsys.readouterr().out.splitlines()
    [line] = [line for line in lines if "torch.cuda.synchronize" in line]
    note = "torch.cuda itself drives the software device"
    assert line.split() == ["2", "torch.cuda.synchronize", "same", *note.split()]


def test_json(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status("--json", "--backend", "npu", "--backend", "cpu", ".") == 1
    report = json.loads(capsys.readouterr().out)
    assert report["backends"] == ["npu", "cpu"]
    assert report["files"] == 3
    assert report["unparsed"] == [{"file": "broken.py", "line": 2, "message": "'(' was never closed"}]
    [capability] = [use for use in report["uses"] if use["rule"] == "capability-check"]
    assert (capability["file"], capability["line"], capability["column"]) == ("look.py", 4, 4)
    assert capability["look"]
    assert capability["remedy"].startswith("ask for what is needed instead")
    [gds] = [use for use in report["uses"] if use["name"] == "torch.cuda.gds"]
    assert gds["kind"] == "name"
    assert gds["backends"]["npu"] == {
        "status": "missing",
        "note": "there is no GPUDirect Storage; read into pinned memory and copy",
        "look": True,
    }


def test_sarif(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status("--sarif", "found.sarif", "--backend", "npu", ".") == 1
    capsys.readouterr()
    assert status("--sarif", "-", "--backend", "npu", ".") == 1
    log = json.loads((folder / "found.sarif").read_text())
    assert json.loads(capsys.readouterr().out) == log
    assert log["version"] == "2.1.0"
    [run] = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert [_told(result, rules) for result in run["results"]] == [
        ("capability-check", "warning", "look.py", 4, 4),
        ("missing-name", "error", "look.py", 5, 5),
        ("unparsed", "warning", "broken.py", 2, 1),
    ]
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == folder.as_uri() + "/"


def _told(result: dict[str, Any], rules: list[dict[str, Any]]) -> tuple[object, ...]:
    """Returns what a result says, by way of every key that the standard and code hosts demand."""
    [location] = result["locations"]
    physical = location["physicalLocation"]
    region = physical["region"]
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert rules[result["ruleIndex"]]["shortDescription"]["text"]
    assert result["message"]["text"]
    assert physical["artifactLocation"]["uriBaseId"] == "SRCROOT"
    assert (region["endLine"], region["endColumn"]) >= (region["startLine"], region["startColumn"])
    file = physical["artifactLocation"]["uri"]
    return result["ruleId"], result["level"], file, region["startLine"], region["startColumn"]


def test_a_terminal_of_80_columns(folder: pathlib.Path) -> None:
    """Looked at as a person would: nothing is cut off or wider than the terminal, and there is progress."""
    shown, progress, _ = terminal.run("check", "look.py", "served.py")
    assert max(map(len, shown.splitlines())) <= terminal.WIDTH
    assert "torch.cuda.get_device_capability look look look look look look" in shown
    assert "scanning: 2 of 2, served.py" in progress

"""`morph check`: its output in each form, and its exit status."""

import json
import pathlib
from typing import Any

import pytest

from morph.backends.tables import table
from tests import commands
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
    return commands.status("check", *words)


def test_exit_status(folder: pathlib.Path) -> None:
    assert status("served.py") == 0
    assert status("look.py") == status("broken.py") == status(".") == 1
    assert status("--backend", "rocm", "served.py") == 0
    (folder / "gds.py").write_text("import torch\ntorch.cuda.gds\n")
    assert status("--backend", "npu", "gds.py") == 1
    assert status("--backend", "rocm", "gds.py") == 0


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """Returns the printed lines."""
    status(*words)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_text(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, ".")
    numbers = ["1" if name == "rocm" else "2" for name in table.backend_names()]
    end = "7 uses of CUDA in 2 of 3 files, 2 to look at (2 causes), 1 with differences (1"
    assert lines[:2] == [end, "cause), 1 file not read"]
    assert ["to", "look", "at", *numbers] in [line.split() for line in lines]
    assert "     1      1  capability-check: ask for what is needed instead:" in lines
    begin = lines.index("capability-check: 1 place in 1 file")
    assert lines[begin + 1 : begin + 6] == [
        "  a decision by the generation of an NVIDIA GPU",
        "  on every backend",
        "  do: ask for what is needed instead: torch.cuda.is_bf16_supported(), or try it;",
        "    other devices have other numbers, or none",
        "    look.py:4",
    ]
    assert "torch.cuda.gds (missing-name): 1 place in 1 file" in lines
    assert "broken.py:2: '(' was never closed" in lines
    assert lines[-2:] == [end, "cause), 1 file not read; --all shows every use and place"]


def test_a_report_with_nothing_to_say_is_its_summary(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "plain.py").write_text("x = 1\n")
    shown = printed(capsys, "plain.py")
    assert shown == ["0 uses of CUDA in 0 of 1 file, 0 to look at, 0 with differences"]


def test_every_use_is_shown_where_it_is_asked_for(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [line.split() for line in printed(capsys, "--all", ".")]
    count = len(table.backend_names())
    assert ["2", "torch.cuda.synchronize", *["yes"] * count] in lines
    assert ["4", "torch.cuda.get_device_capability", *["look"] * count] in lines
    [line] = [each for each in printed(capsys, "--all", "--backend", "cpu", "served.py") if "synchr" in each]
    note = "torch.cuda itself drives the software"  # "device" is in the next line
    assert line.split() == ["2", "torch.cuda.synchronize", "same", *note.split()]


def test_the_column_of_notes_has_no_heading(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    headings = [line.split() for line in printed(capsys, "--all", "--backend", "cpu", "served.py")]
    assert ["line", "use", "cpu"] in headings


def test_one_cause_is_said_once(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(40):
        lines = "".join(f"cupy.f{line}()\nimport cupy\n" for line in range(30))
        (folder / f"numbered{number}.py").write_text(f"{lines}import xformers\n")
    shown = printed(capsys, ".")
    assert len(shown) < 70
    assert max(map(len, shown)) <= terminal.WIDTH
    assert "  1200     40  cupy: arrays; use torch, or numpy on the host" in shown
    begin = shown.index("cupy (nvidia-package): 1200 places in 40 files")
    assert shown[begin + 2] == "  every backend: arrays; use torch, or numpy on the host"
    assert shown[begin + 4] == "    numbered0.py:2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26 and 17 more"
    assert shown[begin + 7] == "    and in 37 more files"
    assert sum("take a path of the program without it" in line for line in shown) == 1
    everything = printed(capsys, "--all", ".")
    listed = ", ".join(str(line) for line in range(2, 61, 2))
    assert {f"    numbered{number}.py:{listed}" for number in range(40)} <= {*everything}


def test_a_cause_is_what_the_tables_say(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = "import torch\ntorch.cuda.gds.GdsFile\ntorch.cuda.gds.gds_register_buffer\n"
    (folder / "gds.py").write_text(source)
    status("--json", "gds.py")
    report = json.loads(capsys.readouterr().out)
    [cause] = [each for each in report["causes"] if each["look"]]
    assert cause["title"] == "torch.cuda.gds.GdsFile and 1 more"
    assert (cause["rule"], cause["places"], cause["files"]) == ("missing-name", 2, 1)
    assert [use["cause"] for use in report["uses"] if use["look"]] == [report["causes"].index(cause)] * 2
    assert [note["backends"] for note in cause["notes"]] == [["npu", "mlu", "musa", "xpu", "tpu"], ["cpu"]]


def test_kernels_have_what_each_backend_has_for_them(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "kernel.py").write_text(
        "import torch, triton\n@triton.jit\ndef f(x): pass\n"
        "from torch.utils.cpp_extension import CUDAExtension\nCUDAExtension('a', ['a.cu'])\n"
        "f = torch.compile(f)\nx.to(memory_format=torch.channels_last)\n"
    )
    said = printed(capsys, "kernel.py")
    assert "  npu: triton-ascend compiles it, where that is installed" in said
    assert "  musa: morph ports the sources of a CUDAExtension, and torch_musa builds them," in said
    assert "  cpu: inductor compiles it for the CPU, without triton" in said
    assert "  npu: tensors stay contiguous, with the same values" in said
    assert status("--backend", "xpu", "--ignore", "cuda-extension", "kernel.py") == 0


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
    cause = report["causes"][capability["cause"]]
    assert (cause["title"], cause["names"]) == ("capability-check", ["torch.cuda.get_device_capability"])
    assert (cause["remedy"], cause["notes"][0]["backends"]) == (capability["remedy"], ["npu", "cpu"])
    [gds] = [use for use in report["uses"] if use["name"] == "torch.cuda.gds"]
    assert gds["kind"] == "name"
    assert gds["backends"]["npu"] == {
        "status": "missing",
        "note": "there is no GPUDirect Storage; read into pinned memory and copy",
        "look": True,
        "differs": True,
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
    """Returns the content of a result, read from every key that the standard and code hosts require."""
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
    """On a terminal, nothing is cut off or wider than the terminal, and progress is shown."""
    shown, progress, _ = terminal.run("check", "look.py", "served.py")
    assert max(map(len, shown.splitlines())) <= terminal.WIDTH
    assert "capability-check: 1 place in 1 file" in shown
    assert "scanning: 2 of 2, served.py" in progress

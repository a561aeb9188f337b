"""A rehearsal ends with a report of the CUDA names that the program used, and a verdict."""

import io
import json
import pathlib
import subprocess
import sys
import textwrap
from typing import Any

import pytest

from morph.backends.tables import table
from morph.evidence.rehearsal.findings import Result, result
from morph.evidence.rehearsal.printing import print_result, print_results
from morph.evidence.rehearsal.recording import Ending, ending, records
from tests import platforms
from tests.platforms import complete, describe

PROGRAM = """
import torch
from torch.cuda.amp import autocast

for _ in range(3):
    torch.cuda.synchronize()
x = torch.ones(2, device="cuda")
print(x.device, torch.cuda.memory_allocated() > 0, hasattr(torch.cuda, "gds"))
print(torch.cuda.get_device_capability())
dir(torch.cuda)
"""
IN_CHILDREN = """
import subprocess, sys, torch
from torch.utils.data import DataLoader, Dataset

class Counts(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return torch.tensor(torch.cuda.device_count())

if __name__ == "__main__":
    list(DataLoader(Counts(), num_workers=1, multiprocessing_context="fork"))
    child = "import torch; torch.cuda.synchronize(); torch.cuda.gds"
    sys.exit(subprocess.call([sys.executable, "-c", child]))
"""
NPU = """
[backend]
name = "npu"
title = "Huawei Ascend"
device_type = "npu"
dispatch_key = "PrivateUse1"
module = "torch.npu"
collective = "hccl"
surface = "torch_npu-2.13.0"
[emulated]
"torch.cuda.Thing" = { adapter = "some.module:Thing", difference = "another thing" }
[missing]
"torch.cuda.gds" = "no direct storage"
"""
USES = {
    name: {"name": name, "count": 2, "file": "train.py", "line": line}
    for line, name in enumerate(("torch.cuda.synchronize", "torch.cuda.Thing", "torch.cuda.gds"), 1)
}


def rehearse(*arguments: object, vendor: str = "npu", cwd: pathlib.Path) -> subprocess.CompletedProcess[str]:
    environment = platforms.platform("cpu", {}).environment
    command = [sys.executable, "-m", "morph", "--rehearse", vendor, *map(str, arguments)]
    platforms.build_native_parts()
    return complete(command, env=environment, cwd=cwd)


def test_a_program_is_rehearsed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = rehearse("--json", "found.json", "program.py", cwd=tmp_path)
    assert done.returncode == 0, describe(done)
    assert done.stdout.splitlines() == ["cuda:0 True False", "(8, 0)"]
    rows = {
        line.split()[0]: line.split()[1:4]
        for line in done.stderr.splitlines()
        if line.startswith(("torch.cuda.", "aten::")) and ": " not in line  # a line with ": " begins a note
    }
    assert rows["torch.cuda.synchronize"] == ["3", "program.py:6", "same"]
    assert rows["torch.cuda.amp.autocast"][:2] == ["1", "program.py:3"]
    assert rows["torch.cuda.memory_allocated"][1] == "program.py:8"
    assert rows["aten::empty.memory_format"][0] == "1"
    # torch and adapters look up other names, and dir() looks up all of them
    assert {name.removeprefix("torch.cuda.") for name in rows if name.startswith("torch.")} == {
        "amp.autocast",
        "gds",
        "get_device_capability",
        "memory_allocated",
        "synchronize",
    }
    assert done.stderr.splitlines()[-1] == "on Huawei Ascend it would run, without torch.cuda.gds"
    found = json.loads((tmp_path / "found.json").read_text())
    assert (found["backend"], found["verdict"]) == ("npu", "would run with differences")
    uses = {each["name"]: each for each in found["names"]}
    assert uses["torch.cuda.gds"]["status"] == "missing"
    assert uses["torch.cuda.gds"]["file"] == str(tmp_path / "program.py")
    assert found["operators"]["aten::empty.memory_format"] == 1


@pytest.mark.long
def test_children_are_rehearsed_too(tmp_path: pathlib.Path) -> None:
    (tmp_path / "program.py").write_text(IN_CHILDREN)
    done = rehearse("--json", "-", "program.py", cwd=tmp_path)
    assert done.returncode == 1, describe(done)
    assert done.stderr.count("cuda is npu") == 1
    found = json.loads(done.stdout)
    uses = {each["name"]: (each["count"], pathlib.Path(each["file"]).name) for each in found["names"]}
    assert uses == {
        "torch.cuda.device_count": (4, "program.py"),
        "torch.cuda.synchronize": (1, "<string>"),
        "torch.cuda.gds": (1, "<string>"),
    }
    assert found["processes"] == 3
    assert found["ending"]["error"] == "MissingNameError"
    assert found["said"].startswith(
        "on Huawei Ascend it would stop at <string>:1: MissingNameError: torch.cuda.gds "
    )


@pytest.mark.long
def test_on_every_vendor(tmp_path: pathlib.Path) -> None:
    (tmp_path / "program.py").write_text("import torch; torch.cuda.synchronize(); torch.cuda.gds\n")
    vendors = [name for name in table.backend_names() if table.load(name).facts.surface]
    done = rehearse("--json", "found.json", "program.py", vendor="all", cwd=tmp_path)
    assert done.returncode == 1, describe(done)
    said = done.stderr.splitlines()
    progress = [line for line in said if line.startswith("morph: rehearsing on ")]
    assert len(progress) == len(vendors)
    assert progress[0] == f"morph: rehearsing on Huawei Ascend, 1 of {len(vendors)}"
    (heading,) = (line for line in said if line.startswith("name "))
    assert heading.split() == ["name", "first", "use", *vendors]
    rows = {line.split()[0]: line.split()[1:] for line in said if line.startswith("torch.cuda.")}
    statuses = ["same" if name == "rocm" else "missing" for name in vendors]
    assert rows["torch.cuda.gds"] == ["program.py:1", *statuses]
    stop = "would stop at program.py:1: MissingNameError: torch.cuda.gds does not exist on backend 'mlu'"
    assert f"on Cambricon it {stop}" in done.stderr
    found = json.loads((tmp_path / "found.json").read_text())["backends"]
    assert list(found) == vendors
    verdicts = {name: "would run" if name == "rocm" else "would stop" for name in vendors}
    assert {name: each["verdict"] for name, each in found.items()} == verdicts


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--json", "x.json", "-c", "pass"], "--json needs one of --rehearse"),
        (["--rehearse", "npu", "--json"], "--json needs the name of a file"),
    ],
)
def test_options_that_make_no_sense(arguments: list[str], said: str, tmp_path: pathlib.Path) -> None:
    command = [sys.executable, "-m", "morph", *arguments]
    environment = platforms.platform("cpu", {}).environment
    done = complete(command, env=environment, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize(
    ("names", "ended", "said"),
    [
        (["torch.cuda.synchronize"], None, "would run"),
        (["torch.cuda.Thing"], None, "would run, with differences in torch.cuda.Thing"),
        (
            ["torch.cuda.Thing", "torch.cuda.gds"],
            None,
            "would run, with differences in torch.cuda.Thing, and without torch.cuda.gds",
        ),
        (["torch.cuda.gds"], Ending("SystemExit", "3"), "would stop: exit status 3"),
        ([], Ending("ValueError", "no", "/train.py", 7), "would stop at train.py:7: ValueError: no"),
        (
            [],
            Ending("NotSimulatedError", "torch.npu.x exists on the real device", "/train.py", 7),
            "is not known to run: the rehearsal ended at train.py:7: torch.npu.x exists on the real device",
        ),
    ],
)
def test_verdict(names: list[str], ended: Ending | None, said: str) -> None:
    found, output = _result(names, ended), io.StringIO()
    assert found.said == f"on Huawei Ascend it {said}"
    assert found.verdict.is_good == said.startswith("would run")
    print_result(found, output)
    *lines, last = output.getvalue().splitlines()
    assert last == found.said
    table, notes = lines[1 : len(names) + 1], lines[len(names) + 1 :]
    assert [line.split()[0] for line in table] == sorted(names)
    assert [note.partition(":")[0] for note in notes] == sorted(set(names) - {"torch.cuda.synchronize"})


def test_what_ends_a_process_that_a_launcher_started_counts() -> None:
    cause = {"error": "MissingNameError", "message": "no gds", "file": "/train.py", "line": 3}
    child = {"uses": [], "operators": {}, "ending": cause}
    launcher = {"uses": [], "operators": {}, "ending": None}
    npu = table.parse(NPU, "npu.toml")
    found = result(npu, [launcher, child], Ending("SystemExit", "1"))
    assert found.said == "on Huawei Ascend it would stop at train.py:3: MissingNameError: no gds"
    assert result(npu, [launcher, child], None).said == "on Huawei Ascend it would run"
    assert not result(npu, [], None).verdict.is_good  # the device did not start


def test_a_column_for_each_vendor() -> None:
    output = io.StringIO()
    print_results([_result(["torch.cuda.gds"], None), _result(["torch.cuda.synchronize"], None)], output)
    heading, *rows = output.getvalue().splitlines()
    assert heading.split() == ["name", "first", "use", "npu"]
    assert [row.split()[:3] for row in rows[:1]] == [["torch.cuda.synchronize", "train.py:1", "same"]]


def test_the_record_of_a_process(tmp_path: pathlib.Path) -> None:
    program = """
        import pathlib
        from morph.evidence.rehearsal.recording import Rehearsal

        rehearsal = Rehearsal(pathlib.Path("."), lambda: {"aten::to": 4})
        def served(name):  # stands for the served module, whose caller is the program
            rehearsal(name)
        for _ in range(2):
            served("torch.cuda.synchronize")
        try:
            1 / 0
        except ZeroDivisionError as error:
            rehearsal.ended_by(error)
        rehearsal.save()
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(program))
    environment = platforms.platform("cpu", {}).environment
    subprocess.run(
        [sys.executable, "program.py"], env=environment, cwd=tmp_path, capture_output=True, check=False
    )
    (record,) = records(tmp_path)
    (use,) = record["uses"]
    assert (use["count"], pathlib.Path(use["file"]).name, use["line"]) == (2, "program.py", 9)
    assert record["operators"] == {"aten::to": 4}
    assert (record["ending"]["error"], record["ending"]["line"]) == ("ZeroDivisionError", 11)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (SystemExit(), None),
        (SystemExit(0), None),
        (SystemExit(3), Ending("SystemExit", "3")),
        (SystemExit("in a word"), Ending("SystemExit", "1")),
        (KeyError("key\nmore"), Ending("KeyError", "'key\\nmore'")),
    ],
)
def test_how_a_process_ends(error: BaseException, expected: Ending | None) -> None:
    assert ending(error) == expected


def _result(names: list[str], ended: Ending | None) -> Result:
    record: dict[str, Any] = {"uses": [USES[name] for name in names], "operators": {}, "ending": None}
    return result(table.parse(NPU, "npu.toml"), [record], ended)

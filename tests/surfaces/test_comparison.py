"""Comparing recorded surfaces: what was added, removed and changed, as text and as JSON."""

from __future__ import annotations

import json
import pathlib

import pytest

from morph.backends.tables import surfaces
from morph.evidence.surfaces.comparison import compare
from morph.running.launcher.command import main

OLD = {
    "package": "torch_specimen",
    "version": "1.0",
    "module": "torch.specimen",
    "origin": "made for a test",
    "modules": ["torch.specimen", "torch.specimen.memory"],
    "functions": {
        "torch.specimen.gone": "()",
        "torch.specimen.grown": "(device=None)",
        "torch.specimen.unknown": "",
    },
    "classes": {
        "torch.specimen.Stream": {"signature": "(device=None)", "members": {"query": "(self)"}},
        "torch.specimen.streams": "torch.specimen.Stream",
    },
    "values": ["torch.specimen.flag"],
}
NEW = {
    **OLD,
    "version": "2.0",
    "functions": {
        "torch.specimen.grown": "(device=None, *, strict=False)",
        "torch.specimen.unknown": "(anything)",
        "torch.specimen.flag": "()",
    },
    "classes": {
        "torch.specimen.Stream": {
            "signature": "(device=None)",
            "members": {"query": "property", "record": "(self)"},
        },
        "torch.specimen.streams": "torch.specimen.Stream",
    },
    "values": [],
}


@pytest.fixture
def files(tmp_path: pathlib.Path) -> list[str]:
    for name, content in (("old.json", OLD), ("new.json", NEW)):
        (tmp_path / name).write_text(json.dumps(content))
    return [str(tmp_path / "old.json"), str(tmp_path / "new.json")]


def test_differences_are_told(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["surface", "compare", *files])
    assert ended.value.code == 1
    assert capsys.readouterr().out.splitlines() == [
        "torch_specimen 2.0 against torch_specimen 1.0: 1 added, 1 removed, 3 changed",
        "+ torch.specimen.Stream.record",
        "- torch.specimen.gone",
        "~ torch.specimen.Stream.query",
        "    (self)",
        "    property",
        "~ torch.specimen.flag",
        "    value",
        "    ()",
        "~ torch.specimen.grown",
        "    (device=None)",
        "    (device=None, *, strict=False)",
    ]


def test_differences_as_json(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["surface", "compare", "--json", *files])
    assert ended.value.code == 1
    said = json.loads(capsys.readouterr().out)
    assert said["removed"] == ["torch.specimen.gone"]
    assert said["changed"]["torch.specimen.Stream.query"] == ["(self)", "property"]


def test_a_surface_is_equal_to_itself(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["surface", "compare", "torch_npu-2.13.0", "torch_npu-2.13.0"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.endswith("0 added, 0 removed, 0 changed\n")


def test_vendors_are_compared_place_by_place() -> None:
    found = compare(surfaces.load("torch_cuda-2.13.0"), surfaces.load("torch_npu-2.13.0"))
    assert "torch.cuda.CUDAGraph" in found.removed
    assert "torch.cuda.NPUGraph" in found.added
    assert found.changed["torch.cuda.get_device_name"] == ("(device=None)", "(device_name=None)")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"package": 1}'])
def test_a_file_that_is_no_surface_is_one_line(
    tmp_path: pathlib.Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.json"
    path.write_text(content)
    with pytest.raises(SystemExit) as ended:
        main(["surface", "compare", str(path), str(path)])
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"morph: {path} is not a recorded surface: ")

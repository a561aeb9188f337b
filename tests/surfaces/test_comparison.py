"""Recorded surfaces, read by dotted name, and what was added, removed and changed between two."""

import importlib.resources
import json
import pathlib

import pytest

from morph.backends.tables import surfaces
from morph.evidence.surfaces.comparison import compare
from tests.commands import status

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
    assert status("surface", "compare", *files) == 1
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
    assert status("surface", "compare", "--json", *files) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["removed"] == ["torch.specimen.gone"]
    assert said["changed"]["torch.specimen.Stream.query"] == ["(self)", "property"]


def test_a_surface_is_equal_to_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("surface", "compare", "torch_npu-2.13.0", "torch_npu-2.13.0") == 0
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
    assert status("surface", "compare", str(path), str(path)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"morph: {path} is not a recorded surface: ")


def test_names_and_signatures_are_found() -> None:
    surface = surfaces.load("torch_npu-2.13.0")
    assert (surface.package, surface.version, surface.module) == ("torch_npu", "2.13.0", "torch.npu")
    assert surface.signature("torch.npu.get_device_name") == "(device_name=None)"
    assert surface.signature("torch.npu.Stream.wait_event") == "(self, event)"
    assert surface.signature("torch.npu.Stream.npu_stream") is None
    assert surface.has("torch.npu.Stream.npu_stream")
    assert not surface.has("torch.npu.get_arch_list")
    assert surface.classes["torch.npu.streams.Stream"].home == "torch.npu.Stream"


def test_a_surface_is_written_as_it_was_read() -> None:
    for file in importlib.resources.files("morph.aliases.surfaces").iterdir():
        if file.name.endswith(".json"):
            text = file.read_text(encoding="utf-8")
            assert surfaces.dumps(surfaces.load(file.name.removesuffix(".json"))) == text


def test_all_surfaces_together_are_small() -> None:
    folder = importlib.resources.files("morph.aliases.surfaces")
    sizes = [len(each.read_bytes()) for each in folder.iterdir() if each.name.endswith(".json")]
    assert sum(sizes) < 600 << 10  # four modules, eight releases of each


@pytest.mark.parametrize(
    ("torch", "nearest"),
    [
        ("2.13.0+cpu", "2.13.0"),
        ("2.7.1+cu126", "2.7.1.post11"),
        ("2.12.1", "2.12.0.post3"),
        ("2.15.0", "2.14.0"),
        ("2.6.0", "2.7.1.post11"),
        (None, "2.13.0"),
    ],
)
def test_the_surface_nearest_to_the_installed_torch(
    monkeypatch: pytest.MonkeyPatch, torch: str | None, nearest: str
) -> None:
    monkeypatch.setattr(surfaces, "_torch", lambda: torch)
    assert surfaces.load_nearest("torch_npu-2.13.0").version == nearest
    assert surfaces.load_nearest("torch_mlu-1.33.1").version == "1.33.1"


def test_each_line_of_torch_and_of_torch_npu_is_recorded() -> None:
    lines = [(2, minor) for minor in range(7, 15)]
    for module in ("torch_cuda", "torch_cpu", "torch_xpu", "torch_npu"):
        recorded = map(surfaces.load, surfaces.releases(module))
        assert sorted(surfaces.release(each.version) for each in recorded) == lines

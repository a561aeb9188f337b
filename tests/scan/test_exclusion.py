"""`morph check` with paths, backends and findings excluded, by options and by a file."""

import json
import os
import pathlib

import pytest

from morph.activation import configuration
from morph.source.scan.exclusion import Pattern
from tests.commands import status

SOURCE = "import torch\ntorch.cuda.gds.GdsFile\n"
FILES = (
    "a.py",
    "src/b.py",
    "src/old/c.py",
    "src/old/deep/d_pb2.py",
    "tests/e.py",
    "build/f.py",
    "tools/build/__init__.py",
    "tools/build/g.py",
    "site-packages/h.py",
    ".venv/i.py",
    "node_modules/j.py",
)
READ = {"a.py", "src/b.py", "src/old/c.py", "src/old/deep/d_pb2.py", "tests/e.py", "tools/build/g.py"}


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    for name in FILES:
        file = tmp_path / "project" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("" if file.name == "__init__.py" else SOURCE)
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "project"


def ended(*words: str) -> int:
    configuration._effective.cache_clear()
    return status("check", *words)


def report(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    ended("--json", *words)
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def read(capsys: pytest.CaptureFixture[str], *words: str) -> set[str]:
    uses = report(capsys, *words)["uses"]
    assert isinstance(uses, list)
    return {use["file"] for use in uses}


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("tests", ["tests", "tests/a.py", "src/tests/a.py"], ["my_tests/a.py", "../elsewhere/tests/a.py"]),
        ("tests/", ["tests/a.py", "src/tests/a.py"], []),
        ("*_pb2.py", ["a_pb2.py", "src/a_pb2.py"], []),
        ("src/old", ["src/old", "src/old/a.py"], ["lib/src/old/a.py"]),
        ("./src/old/", ["src/old/a.py"], []),
        ("src/*/a.py", ["src/old/a.py"], []),
        ("src/*.py", [], ["src/old/a.py"]),
        ("**/old", ["old/a.py", "src/old/deep/a.py"], []),
        ("src/**/a.py", ["src/a.py", "src/old/deep/a.py"], []),
        ("tests/**", ["tests/a.py"], ["tests"]),
        ("/root/src", ["src/a.py"], []),
        ("[ab].py", ["a.py", "src/b.py"], []),
        ("root", [], ["a.py"]),
        ("src/old/deep/a.py", [], ["src/old"]),
    ],
)
def test_what_a_pattern_matches(pattern: str, matching: list[str], others: list[str]) -> None:
    made = Pattern(pattern, "/root")
    paths = [*matching, *others]
    assert [path for path in paths if made.matches(os.path.normpath(f"/root/{path}"))] == matching


def test_output_of_tools_is_left_out_unless_it_is_named(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert read(capsys, ".") == READ
    assert report(capsys, ".")["left_out"] == ["build"]
    assert read(capsys, "build", ".venv/i.py") == {"build/f.py", ".venv/i.py"}
    ended(".")
    assert "\nleft out: build\n" in capsys.readouterr().out


def test_patterns_leave_out_what_is_named_too(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--exclude", "tests", "--exclude", "src/old"]
    assert read(capsys, ".", *words) == {"a.py", "src/b.py", "tools/build/g.py"}
    assert read(capsys, "src/old/c.py", "a.py", *words) == {"a.py"}
    assert report(capsys, ".", *words)["left_out"] == ["build", "tests", "src/old"]
    assert ended("tests", *words) == 0


def test_patterns_are_relative_to_the_folder_that_is_checked_too(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    shown = read(capsys, "project", "--exclude", "src/old", "--exclude", "tests")
    assert shown == {"project/a.py", "project/src/b.py", "project/tools/build/g.py"}


def test_a_file_says_the_same(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "pyproject.toml").write_text(
        '[tool.morph.check]\nexclude = ["tests", "src/old"]\nbackends = ["npu", "rocm"]\n'
    )
    assert report(capsys, ".")["backends"] == ["npu", "rocm"]
    assert read(capsys, ".") == {"a.py", "src/b.py", "tools/build/g.py"}
    assert read(capsys, ".", "--exclude", "a.py") == {"src/b.py", "tools/build/g.py"}
    assert read(capsys, "src") == {"src/b.py"}
    assert report(capsys, ".", "--backend", "cpu")["backends"] == ["cpu"]
    status("config")
    assert "check.exclude" in capsys.readouterr().out


def test_without_a_path_it_is_the_current_folder_or_what_a_file_says(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read(capsys) == read(capsys, ".") != set()
    (folder / "pyproject.toml").write_text('[tool.morph.check]\npaths = ["src", "tools"]\n')
    assert read(capsys) == read(capsys, "src", "tools") != read(capsys, ".")
    monkeypatch.chdir(folder / "src")
    assert read(capsys) == {"b.py", "old/c.py", "old/deep/d_pb2.py", "../tools/build/g.py"}
    (folder / "pyproject.toml").write_text('[tool.morph.check]\npaths = ["absent"]\n')
    assert ended() == 2
    assert "there is no file or folder '../absent' to scan" in capsys.readouterr().err


def test_findings_that_are_known(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended("a.py") == 1
    for entry in ("torch.cuda.gds.*", "missing-name", "torch.cuda.gds.GdsFile"):
        assert ended("a.py", "--ignore", entry) == 0
    capsys.readouterr()
    (folder / "morph.toml").write_text('[check]\nignore = ["missing-name"]\n')
    assert report(capsys, "a.py")["ignored"] == 1
    assert ended("a.py") == 0
    assert "1 ignored" in capsys.readouterr().out
    (folder / "broken.py").write_text("x = (")
    assert ended("broken.py") == 1
    assert ended("broken.py", "--ignore", "unparsed") == 0


def test_mistakes_are_told(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended("a.py", "--ignore", "misssing-name") == 2
    assert "did you mean missing-name?" in capsys.readouterr().err
    wrong = {
        'ignore = ["misssing-name"]': "morph.toml:2: check.ignore: there is no rule 'misssing-name'",
        'backends = ["gpu"]': "morph.toml:2: check.backends: there is no backend 'gpu'",
        'exclude = "tests"': "morph.toml:2: check.exclude: 'tests' should be a list",
        'excluded = ["tests"]': "morph.toml:2: check.excluded: unknown key; the keys are paths, exclude, ",
    }
    for line, message in wrong.items():
        (folder / "morph.toml").write_text(f"[check]\n{line}\n")
        assert ended("a.py") == 2
        assert message in capsys.readouterr().err

"""What configuration files may say and what they may not, and which of several sources takes precedence."""

import pathlib
import sys
from collections.abc import Iterator

import pytest

from morph.activation import configuration
from morph.activation.configuration import files
from morph.activation.configuration.files import Source
from morph.base.errors import ConfigurationError
from tests.platforms import complete

WHOLE = """
backend = "npu"
packages = ["mytrainer", "sam2", "__main__"]

[package.sam2]
view = "vendor"
served = ["flash_attn", "pynvml"]
"""
PROJECT = """
[project]
name = "mytrainer"

[tool.morph]
packages = ["mytrainer"]

[tool.morph.package.mytrainer]
served = []
"""


def written(folder: pathlib.Path, text: str, name: str = "morph.toml") -> pathlib.Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_every_key_is_read_with_its_line(tmp_path: pathlib.Path) -> None:
    path = written(tmp_path, WHOLE)
    found = files.read(path)
    assert found is not None
    assert (found.backend, found.packages) == ("npu", ("mytrainer", "sam2", "__main__"))
    assert found.tables == {"sam2": {"view": "vendor", "served": ["flash_attn", "pynvml"]}}
    lines = {key: place.removeprefix(f"{path}:") for key, place in found.places.items()}
    assert lines == {
        "backend": "2",
        "packages": "3",
        "package.sam2.view": "6",
        "package.sam2.served": "7",
    }


@pytest.mark.parametrize(
    ("text", "line", "key", "problem"),
    [
        ("backnd = 'npu'", 1, "backnd", "unknown key; the keys are backend, packages, package"),
        ("\nbackend = 3", 2, "backend", "3 should be the name of a backend, a string"),
        ("backend = ''", 1, "backend", "'' should be the name of a backend, a string"),
        ("packages = 'sam2'", 1, "packages", "'sam2' should be a list of names"),
        ("packages = ['sam2', 1]", 1, "packages", "should be a list of names"),
        ("packages = [\n 'sam-2'\n]", 1, "packages", "'sam-2' should be the name of a top-level package"),
        ("packages = ['os; import x']", 1, "packages", "should be the name of a top-level package"),
        ("package = 1", 1, "package", "1 should be a table"),
        ("[package]\nsam2 = true", 2, "package.sam2", "True should be a table"),
        ("[package.'a b']\nview = 'cuda'", 1, "package.a b", "should be the name of a top-level package"),
        ("[package.sam2]\n\nview = 'npu'", 3, "package.sam2.view", "'npu' should be one of"),
        ("package.sam2.view = true", 1, "package.sam2.view", 'True should be one of "cuda", "vendor"'),
        ("[package.sam2]\nserved = ['numpy']", 2, "package.sam2.served", "'numpy' should be one of"),
        ("[package.sam2]\nlook = 1", 2, "package.sam2.look", "the keys are view, served"),
        ("[package]\nsam2 = { view = 1 }", 2, "package.sam2.view", "1 should be one of"),
        ("packages = []\n[package.sam2]\nview = 'cuda'", 2, "package.sam2", "is not listed in packages"),
        ("\n\nbackend =", 3, "not TOML", ""),
        ("\nbackend =\n\npackages = []", 2, "not TOML", ""),
        ("[package]\n\n'sam2' = true", 3, "package.sam2", "True should be a table"),
        ("backend = 'npu'\n[[package]]", 2, "package", "should be a table"),
    ],
)
def test_what_cannot_be_meant_is_an_error_with_file_and_line(
    tmp_path: pathlib.Path, text: str, line: int, key: str, problem: str
) -> None:
    for name, above in (("morph.toml", ""), ("pyproject.toml", "tool.morph")):
        nested = text.replace("[package", f"[{above}.package") if above else text
        path = written(tmp_path, f"[{above}]\n{nested}" if above else text, name)
        with pytest.raises(ConfigurationError) as caught:
            files.read(path)
        assert str(caught.value).startswith(f"{path}:{line + bool(above)}: {key}: "), caught.value
        assert problem in str(caught.value)


@pytest.mark.parametrize("content", [b"backend = 'n\xff'", b"\x00"])
def test_a_file_that_is_not_text(tmp_path: pathlib.Path, content: bytes) -> None:
    (tmp_path / "morph.toml").write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"morph\.toml:1: "):
        files.read(tmp_path / "morph.toml")


@pytest.mark.parametrize("name", ["morph.toml", "pyproject.toml"])
@pytest.mark.parametrize(
    "value", ["[" * 100_000, "{a=" * 100_000, "[" * 900 + "]" * 900, "{a=" * 60 + "1" + "}" * 60]
)
def test_a_file_that_nests_too_deeply(tmp_path: pathlib.Path, name: str, value: str) -> None:
    path = written(tmp_path, f"[tool.morph]\npackages = {value}", name)
    with pytest.raises(ConfigurationError) as caught:
        files.read(path)
    assert str(caught.value) == f"{path}:2: not TOML: arrays or tables nest too deeply"


def test_dotted_keys_of_many_parts(tmp_path: pathlib.Path) -> None:
    path = written(tmp_path, f"package.{'.'.join('a' * 20_000)} = 1")
    with pytest.raises(
        ConfigurationError, match=r"morph\.toml:1: not TOML: arrays or tables nest too deeply"
    ):
        files.read(path)


def test_a_program_under_a_file_that_nests_too_deeply_is_told_in_one_line(tmp_path: pathlib.Path) -> None:
    path = written(tmp_path, f"x = {'[' * 100_000}")
    command = [sys.executable, "-m", "morph", "-c", "1"]
    done = complete(command, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"morph: {path}:1: not TOML: arrays or tables nest too deeply\n"


def test_the_projects_file_is_the_first_upwards_that_is_about_morph(tmp_path: pathlib.Path) -> None:
    project = written(tmp_path, PROJECT, "pyproject.toml")
    inner = tmp_path / "package" / "inner"
    written(inner, "[project]\nname = 'inner'\n[tool.ruff]\n", "pyproject.toml")
    written(tmp_path / "package", "= is for others to complain about", "pyproject.toml")
    found = files.of_project(inner)
    assert found is not None
    assert found.packages == ("mytrainer",)
    assert found.tables == {"mytrainer": {"served": []}}
    assert found.places["packages"] == f"{project}:6"
    nearer = written(tmp_path / "package", "packages = []")
    found = files.of_project(inner)
    assert found is not None
    assert found.places == {"packages": f"{nearer}:1"}


def test_no_file_says_nothing(tmp_path: pathlib.Path) -> None:
    assert files.read(tmp_path / "morph.toml") is None
    assert files.read(written(tmp_path, "[tool.black]", "pyproject.toml")) is None
    (tmp_path / "folder" / "morph.toml").mkdir(parents=True)
    assert files.read(tmp_path / "folder" / "morph.toml") is None


SOURCES = ("variables", "project", "environment", "user")


def source(name: str, backend: str) -> Source:
    places = dict.fromkeys(("backend", "packages", "package.sam2.view"), name)
    return Source(places, backend, ("sam2", name), {"sam2": {"view": name}})


@pytest.fixture(autouse=True)
def nothing_is_kept() -> Iterator[None]:
    configuration._effective.cache_clear()
    yield
    configuration._effective.cache_clear()


@pytest.mark.parametrize("first", range(4))
def test_the_most_specific_source_that_says_it_counts(monkeypatch: pytest.MonkeyPatch, first: int) -> None:
    backends = ("cpu", "npu", "musa", "xpu")
    told: list[Source | None] = [*map(source, SOURCES, backends)]
    told[:first] = [None] * first
    monkeypatch.setattr(configuration, "_of_variables", lambda *given: told[0])
    monkeypatch.setattr(files, "of_project", lambda start: told[1])
    monkeypatch.setattr(files, "of_environment", lambda: told[2])
    monkeypatch.setattr(files, "of_user", lambda: told[3])
    settings = configuration.effective(pathlib.Path("/"))
    assert settings.backend == backends[first]
    assert {each.place for each in settings.listed} == {SOURCES[first]}
    assert [each.value for each in settings.listed] == [
        backends[first],
        ("sam2", SOURCES[first]),
        SOURCES[first],
    ]

"""Which modules next to a program belong to it."""

import pathlib

import pytest

from morph.running.startup.beside import modules_beside


def names_beside(folder: pathlib.Path, *paths: str) -> list[str]:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()
    return list(modules_beside(folder))


def test_modules_and_packages(tmp_path: pathlib.Path) -> None:
    found = names_beside(tmp_path, "model.py", "package/__init__.py", "folder/layers.py", "native.abi3.so")
    assert found == ["folder", "model", "native", "package"]


def test_what_python_cannot_import_is_no_module(tmp_path: pathlib.Path) -> None:
    assert names_beside(tmp_path, "read-me.py", "notes.txt", "data/table.csv", "old.d/model.py") == []
    assert list(modules_beside(tmp_path / "absent")) == []


def test_a_package_on_the_path_takes_precedence_over_a_folder_without_init(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "path" / "layers").mkdir(parents=True)
    (tmp_path / "path" / "layers" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path / "path"))
    program = tmp_path / "program"
    assert names_beside(program, "layers/own.py", "blocks/own.py") == ["blocks"]
    assert names_beside(program, "layers/__init__.py") == ["blocks", "layers"], "now it is Python's first"

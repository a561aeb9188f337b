"""torch's device extensions are held back while torch initialises; those of other vendors load afterwards."""

import importlib.metadata
import os
import pathlib
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from morph.backends.autoload import VARIABLE, Autoload
from tests.platforms import REPOSITORY, complete


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the loaded extensions; one is of a vendor with a table, three are not."""
    names: list[str] = []

    def failing() -> Callable[[], None]:
        raise exceptions.pop()

    exceptions: list[BaseException] = [SystemExit("no device"), RuntimeError("no driver")]
    extensions = [
        SimpleNamespace(name="torch_npu", module="torch_npu", load=lambda: lambda: names.append("torch_npu")),
        SimpleNamespace(name="broken", module="torch_broken.of", load=failing),
        SimpleNamespace(name="leaving", module="torch_leaving", load=failing),
        SimpleNamespace(name="other", module="torch_other", load=lambda: lambda: names.append("other")),
    ]
    found = {"torch.backends": extensions}
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: found.get(group, []))
    return names


@pytest.mark.parametrize(("setting", "loads"), [(None, True), ("1", True), ("0", False)])
def test_extensions_are_loaded_later_if_the_user_lets_torch_load_them(
    monkeypatch: pytest.MonkeyPatch, loaded: list[str], setting: str | None, loads: bool
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if setting is not None:
        monkeypatch.setenv(VARIABLE, setting)
    autoload, said = Autoload(), list[str]()
    assert os.environ[VARIABLE] == "0"
    autoload.resume(said.append)
    assert os.environ.get(VARIABLE) == setting
    assert loaded == ["other"] * loads
    assert (
        said
        == [
            "torch's device extension 'broken' fails to load: no driver",
            "torch's device extension 'leaving' fails to load: no device",
        ]
        * loads
    )


@pytest.mark.parametrize(("hip", "installed"), [("'7.0'", True), ("None", False)])
def test_what_torch_is_built_for_is_known_without_importing_it(
    tmp_path: pathlib.Path, hip: str, installed: bool
) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise AssertionError('torch is imported')\n")
    (tmp_path / "torch" / "version.py").write_text(f"hip = {hip}\n")
    program = (
        "from morph.backends import is_installed\nfrom morph.backends.tables import table\n"
        "print(is_installed(table.facts('rocm')))\n"
    )
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(REPOSITORY)])}
    done = complete([sys.executable, "-c", program], env=variables)
    assert (done.stdout, done.stderr) == (f"{installed}\n", "")

"""The finder: what it touches, what it leaves alone, and that it leaves no trace."""

import importlib
import importlib.machinery
import importlib.util
import pathlib
import sys
import threading
from collections.abc import Iterator
from types import ModuleType

import pytest

from morph.base.journal import Journal
from morph.finders import finder, on_import


@pytest.fixture
def package(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package with two submodules, not yet imported."""
    folder = tmp_path / "specimen"
    folder.mkdir()
    (folder / "__init__.py").write_text("value = 1\n")
    (folder / "inner.py").write_text("value = 2\n")
    (folder / "broken.py").write_text("raise RuntimeError('broken on purpose')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "specimen"
    for name in [name for name in sys.modules if name.partition(".")[0] == "specimen"]:
        del sys.modules[name]


@pytest.fixture
def journal() -> Iterator[Journal]:
    journal = Journal()
    yield journal
    journal.undo()


def test_calls_back_after_the_module_is_complete(package: str, journal: Journal) -> None:
    seen: list[int] = []
    on_import(package, lambda module: seen.append(module.value), journal)
    assert seen == []
    importlib.import_module(package)
    assert seen == [1]


def test_calls_back_at_once_for_an_imported_module(package: str, journal: Journal) -> None:
    module = importlib.import_module(package)
    seen: list[ModuleType] = []
    on_import(package, seen.append, journal)
    assert seen == [module]


def test_waits_for_a_module_whose_code_is_still_running(
    package: str, journal: Journal, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    watch = lambda: on_import(package, lambda module: seen.append(module.value), journal)  # noqa: E731
    monkeypatch.setattr(sys, "watch", watch, raising=False)
    (tmp_path / package / "__init__.py").write_text("import sys\nsys.watch()\nvalue = 1\n")
    module = importlib.import_module(package)
    assert seen == [1]
    assert type(module.__spec__) is importlib.machinery.ModuleSpec
    del sys.modules[package]
    importlib.import_module(package)  # watched from the beginning now, and once more by its own code
    assert seen == [1, 1, 1]
    assert journal.skipped == {}


def test_forgets_a_module_whose_code_fails(
    package: str, journal: Journal, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[ModuleType] = []
    monkeypatch.setattr(sys, "watch", lambda: on_import(package, seen.append, journal), raising=False)
    (tmp_path / package / "__init__.py").write_text("import sys\nsys.watch()\nraise RuntimeError\n")
    with pytest.raises(RuntimeError):
        importlib.import_module(package)
    assert seen == []


def test_an_error_is_said_and_what_torch_lacks_is_only_recorded(
    package: str, journal: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    def divide(module: ModuleType) -> None:
        assert 1 / (module.value - 1)

    on_import(package, divide, journal, "the specimen")
    on_import(package, lambda module: module.absent, journal, "what it lacks")
    importlib.import_module(package)
    assert capsys.readouterr().err == (
        "morph: the specimen is not served: ZeroDivisionError: division by zero\n"
    )
    assert list(journal.skipped) == ["the specimen", "what it lacks"]


def test_leaves_no_trace_on_the_module(package: str, journal: Journal) -> None:
    plain = importlib.import_module(package)
    del sys.modules[package]
    on_import(package, lambda module: None, journal)
    watched = importlib.import_module(package)
    assert type(watched.__loader__) is type(plain.__loader__)
    assert watched.__spec__ is not None
    assert watched.__spec__.loader is watched.__loader__
    assert watched.__spec__.origin == plain.__spec__.origin  # type: ignore[union-attr]


def test_a_found_spec_still_tells_its_source(package: str, journal: Journal) -> None:
    on_import(package, lambda module: None, journal)
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.loader.get_source(package) == "value = 1\n"  # type: ignore[union-attr]


def test_watches_submodules_at_any_depth(package: str, journal: Journal) -> None:
    seen: list[str] = []
    finder.watch_below(package, lambda module: seen.append(module.__name__))
    journal.on_undo(lambda: finder.unwatch_below(package))
    importlib.import_module(f"{package}.inner")
    assert seen == [f"{package}.inner"]


def test_a_module_that_fails_is_not_reported(package: str, journal: Journal) -> None:
    seen: list[ModuleType] = []
    on_import(f"{package}.broken", seen.append, journal)
    with pytest.raises(RuntimeError, match="broken on purpose"):
        importlib.import_module(f"{package}.broken")
    assert seen == []
    assert f"{package}.broken" not in sys.modules


def test_leaves_other_modules_alone(journal: Journal) -> None:
    on_import("specimen", lambda module: None, journal)
    assert finder.find_spec("json") is None


def test_is_on_the_path_once_and_only_while_somebody_waits(package: str) -> None:
    before = list(sys.meta_path)
    first, second = Journal(), Journal()
    on_import(package, lambda module: None, first)
    on_import(f"{package}.inner", lambda module: None, second)
    assert sys.meta_path == [finder, *before]
    first.undo()
    assert sys.meta_path == [finder, *before]
    second.undo()
    assert sys.meta_path == before


def test_undoing_forgets_the_callback(package: str) -> None:
    seen: list[ModuleType] = []
    journal = Journal()
    on_import(package, seen.append, journal)
    journal.undo()
    importlib.import_module(package)
    assert seen == []


def test_prepares_once_before_execution(package: str, journal: Journal) -> None:
    order: list[str] = []
    on_import(package, lambda module: order.append("after"), journal)
    finder.prepare(package, lambda: order.append("before"))
    importlib.import_module(package)
    assert order == ["before", "after"]


def test_threads_importing_at_once_see_one_complete_module(package: str, journal: Journal) -> None:
    seen: list[ModuleType] = []
    on_import(package, seen.append, journal)
    results: list[ModuleType] = []
    threads = [
        threading.Thread(target=lambda: results.append(importlib.import_module(package))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 1
    assert set(map(id, results)) == {id(sys.modules[package])}

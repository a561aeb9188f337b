from __future__ import annotations

import builtins
import importlib
import importlib.util
import inspect
import os
import pathlib
import py_compile
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.machinery import PathFinder, SourceFileLoader
from types import BuiltinFunctionType, FrameType, ModuleType
from typing import Any
from zipimport import zipimporter

import pytest
from _pytest.assertion import rewrite

from morph.finders.rewriting.finder import Rewriter
from morph.finders.rewriting.literals import Literals, Word
from morph.finders.rewriting.loader import tagged
from morph.finders.rewriting.owners import owner_of_text
from morph.finders.scope import Scope
from tests.finders.rewriting import NPU

get_cache_dir = rewrite.get_cache_dir
SOURCE = '"""A module."""\n\ndef on_gpu(device):\n    return device == "cuda"\n'


@pytest.fixture(autouse=True)
def bytecode_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


@pytest.fixture
def file(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "sample.py"
    path.write_text(SOURCE)
    return path


def npu(module: str) -> Literals:
    return NPU


@pytest.fixture(autouse=True)
def rewriter() -> Iterator[Rewriter]:
    rewriter = Rewriter()
    rewriter.install(Scope(), npu)
    yield rewriter
    rewriter.uninstall()


def load(folder: pathlib.Path) -> ModuleType:
    importlib.invalidate_caches()
    spec = PathFinder.find_spec("sample", [str(folder)])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rewritten_bytecode(file: pathlib.Path) -> pathlib.Path:
    return pathlib.Path(tagged(importlib.util.cache_from_source(str(file)), NPU))


def test_module_is_rewritten_and_its_source_is_the_original(file: pathlib.Path) -> None:
    module = load(file.parent)
    assert module.on_gpu("npu") is True
    assert inspect.getsource(module) == SOURCE
    assert inspect.getsource(module.on_gpu) == SOURCE.partition("\n\n")[2]
    assert module.__loader__.get_source("sample") == SOURCE
    assert module.__file__ == str(file)
    assert type(module.__loader__) is SourceFileLoader


def test_everything_is_as_it_was_afterwards(rewriter: Rewriter) -> None:
    replaced = [builtins.compile, SourceFileLoader.get_data, SourceFileLoader.set_data, zipimporter.get_code]
    rewriter.uninstall()
    own = [builtins.compile, SourceFileLoader.get_data, SourceFileLoader.set_data, zipimporter.get_code]
    assert not {*map(id, own)} & {*map(id, replaced)}
    assert isinstance(builtins.compile, BuiltinFunctionType)
    assert all(each.__module__ in {"builtins", "_frozen_importlib_external", "zipimport"} for each in own)
    assert get_cache_dir.__module__ == rewrite.get_cache_dir.__module__


def test_bytecode_lies_under_its_own_tag(file: pathlib.Path, rewriter: Rewriter) -> None:
    load(file.parent)
    cached = rewritten_bytecode(file)
    assert cached.exists()
    assert importlib.util.source_from_cache(str(cached)) == str(file)
    py_compile.compile(str(file), doraise=True)
    assert sorted(path.name for path in cached.parent.iterdir()) == sorted(
        [cached.name, f"sample.{sys.implementation.cache_tag}.pyc"]
    )
    rewriter.install(Scope(), lambda module: Literals((Word("cuda", "xpu"), Word("nccl", "xccl"))))
    load(file.parent)
    assert len(list(cached.parent.iterdir())) == 3


def test_bytecode_is_used_until_the_source_changes(
    file: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(file.parent)
    compilations: list[object] = []
    compiled = SourceFileLoader.source_to_code

    def counted(self: SourceFileLoader, data: Any, path: Any, **options: int) -> object:
        compilations.append(path)
        return compiled(self, data, path, **options)

    monkeypatch.setattr(SourceFileLoader, "source_to_code", counted)
    assert load(file.parent).on_gpu("npu") is True
    assert compilations == []
    file.write_text(SOURCE + "changed = True\n")
    assert load(file.parent).changed is True
    assert compilations == [str(file)]


@pytest.mark.parametrize("checked", [True, False])
def test_bytecode_invalidated_by_hash(file: pathlib.Path, checked: bool) -> None:
    code = SourceFileLoader("sample", str(file)).get_code("sample")
    assert code is not None
    mode = 0b11 if checked else 0b01
    digest = importlib.util.source_hash(file.read_bytes())
    import marshal

    header = importlib.util.MAGIC_NUMBER + mode.to_bytes(4, "little") + digest
    rewritten_bytecode(file).write_bytes(header + marshal.dumps(code))
    file.write_text(SOURCE + "changed = True\n")
    assert hasattr(load(file.parent), "changed") is checked


def test_damaged_bytecode_is_replaced(file: pathlib.Path) -> None:
    load(file.parent)
    cached = rewritten_bytecode(file)
    cached.write_bytes(b"damaged")
    assert load(file.parent).on_gpu("npu") is True
    assert cached.read_bytes()[:4] == importlib.util.MAGIC_NUMBER


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_folder(file: pathlib.Path) -> None:
    file.parent.chmod(0o555)
    assert load(file.parent).on_gpu("npu") is True
    file.parent.chmod(0o755)
    assert not (file.parent / "__pycache__").exists()


def test_folder_where_bytecode_cannot_be_written(file: pathlib.Path) -> None:
    (file.parent / "__pycache__").write_text("a file where the folder would be")
    assert load(file.parent).on_gpu("npu") is True


def test_package_in_a_zip_file(tmp_path: pathlib.Path) -> None:
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.writestr("inside/sample.py", SOURCE)
    module = load(tmp_path / "archive.zip" / "inside")
    assert module.on_gpu("npu") is True
    assert module.__loader__.get_source("sample") == SOURCE


def test_a_zip_file_is_read_through_another_s_wrapper_after_the_end(
    tmp_path: pathlib.Path, rewriter: Rewriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.writestr("inside/sample.py", SOURCE)
    ours = zipimporter.get_code
    monkeypatch.setattr(zipimporter, "get_code", lambda self, fullname: ours(self, fullname))
    rewriter.uninstall()
    assert load(tmp_path / "archive.zip" / "inside").on_gpu("npu") is False


def test_a_file_is_written_with_python_s_own_rights(file: pathlib.Path) -> None:
    before = os.umask(0)
    try:
        SourceFileLoader("sample", str(file)).set_data(str(file.parent / "data.bin"), b"cuda")
        (file.parent / "own.bin").write_bytes(b"cuda")
    finally:
        os.umask(before)
    assert (file.parent / "data.bin").stat().st_mode == (file.parent / "own.bin").stat().st_mode


@pytest.mark.parametrize("runner", ["IPython.core.interactiveshell", "_pytest.doctest", "xdoctest.core"])
def test_what_runs_a_user_s_cells_compiles_for_the_program(runner: str) -> None:
    assert owner_of_text(frame_of(runner)) == "__main__"
    assert owner_of_text(frame_of(f"my.{runner}")) == f"my.{runner}"


def frame_of(module: str) -> FrameType:
    names: dict[str, Any] = {"__name__": module, "sys": sys}
    exec("frame = sys._getframe()", names)
    found = names["frame"]
    assert isinstance(found, FrameType)
    return found


def test_data_files_are_read_as_they_are(file: pathlib.Path) -> None:
    (file.parent / "data.bin").write_bytes(b"cuda")
    loader = SourceFileLoader("sample", str(file))
    assert loader.get_data(str(file.parent / "data.bin")) == b"cuda"


def test_a_module_that_does_not_mention_cuda_is_python_s_own(file: pathlib.Path, rewriter: Rewriter) -> None:
    file.write_text("value = 1\n")
    assert load(file.parent).value == load(file.parent).value == 1
    [cached] = (file.parent / "__pycache__").iterdir()
    assert cached.name == f"sample.{sys.implementation.cache_tag}.pyc"


def test_a_module_that_comes_to_mention_cuda(file: pathlib.Path) -> None:
    file.write_text("value = 1\n")
    load(file.parent)
    file.write_text(SOURCE)
    assert load(file.parent).on_gpu("npu") is True
    [cached] = (file.parent / "__pycache__").iterdir()
    assert cached == rewritten_bytecode(file)
    assert load(file.parent).on_gpu("npu") is True


def test_a_module_that_is_to_be_left_alone(file: pathlib.Path, rewriter: Rewriter) -> None:
    rewriter.install(Scope(), lambda module: None)
    assert load(file.parent).on_gpu("npu") is False
    [cached] = (file.parent / "__pycache__").iterdir()
    assert cached.name == f"sample.{sys.implementation.cache_tag}.pyc"


def test_a_syntax_error_shows_no_frame_of_the_loader(file: pathlib.Path) -> None:
    file.write_text('x == "cuda"\nx = (\n')
    program = f"""
import sys
sys.path.insert(0, {str(file.parent)!r})
if sys.argv[1:]:
    from morph.finders.rewriting.literals import Literals, Word
    from morph.finders.rewriting.finder import rewriter
    from morph.finders.scope import Scope
    rewriter.install(Scope(), lambda module: Literals((Word("cuda", "npu"),)))
import sample
"""
    said = [
        subprocess.run(
            [sys.executable, "-c", program, *rewrites], capture_output=True, text=True, check=False
        ).stderr
        for rewrites in ([], ["rewritten"])
    ]
    assert "SyntaxError: '(' was never closed" in said[0]
    assert said[0] == said[1]

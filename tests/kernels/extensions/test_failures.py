"""A build of a CUDA extension that failed is not tried anew, until something of it changes."""

import pathlib

import pytest

from morph.kernels.extensions import failures
from morph.kernels.extensions.toolkit import Toolkit


@pytest.fixture
def built():
    """The sources of the builds that were made."""
    return []


@pytest.fixture
def load(tmp_path, built):
    def torchs(name, sources, extra_cflags=None, extra_include_paths=None, verbose=False, with_cuda=None):
        text = pathlib.Path(sources[0]).read_text()
        built.append(text)
        if "broken" in text:
            raise RuntimeError(f"Error building extension '{name}': {text}")
        return name

    return failures.remembering(torchs, Toolkit(tmp_path))


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "sources" / "ops.cu"
    path.parent.mkdir()
    path.write_text("broken: cudaNothing")
    return path


def test_the_same_build_fails_at_once_with_the_same_error(load, source, built):
    for verbose in (False, True):
        with pytest.raises(RuntimeError, match="Error building extension 'ops': broken: cudaNothing"):
            load("ops", [str(source)], verbose=verbose)
    assert len(built) == 1
    with pytest.raises(RuntimeError, match="is not tried again; delete ") as caught:
        load("ops", [str(source)])
    pathlib.Path(str(caught.value).split("delete ")[1].removesuffix(" to try")).unlink()
    with pytest.raises(RuntimeError, match="cudaNothing$"):
        load("ops", [str(source)])
    assert len(built) == 2


@pytest.mark.parametrize("changed", ["ops.cu", "ops.h", "flags", "compiler"])
def test_a_change_is_tried(load, source, built, changed, monkeypatch):
    (source.parent / "ops.h").write_text("int nothing;")
    with pytest.raises(RuntimeError):
        load("ops", [str(source)])
    if changed == "compiler":
        monkeypatch.setenv("CXX", "clang++")
    elif changed != "flags":
        (source.parent / changed).write_text("broken otherwise")
    with pytest.raises(RuntimeError):
        load("ops", [str(source)], extra_cflags=["-O0"] if changed == "flags" else None)
    assert len(built) == 2


def test_what_may_go_another_time_is_tried_again(load, source, built):
    source.write_text("broken: Killed signal terminated program cc1plus")
    for _ in range(2):
        with pytest.raises(RuntimeError):
            load("ops", [str(source)])
    source.write_text("int mended;")
    assert load("ops", [str(source)]) == "ops"
    assert len(built) == 3


def test_extensions_without_cuda_are_torchs_own(load, tmp_path, built):
    plain = tmp_path / "ops.cpp"
    plain.write_text("broken")
    for _ in range(2):
        with pytest.raises(RuntimeError):
            load("ops", [str(plain)])
    assert len(built) == 2

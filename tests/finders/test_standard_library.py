"""The whole standard library, which has no CUDA literals, compiles to identical code through the rewriter."""

from __future__ import annotations

import ast
import pathlib
import sysconfig
import warnings

import pytest

from morph.finders.rewriting.comparisons import rewrite
from morph.finders.rewriting.mentions import mentions_cuda
from tests.finders.rewriting import NPU, written


def library() -> list[pathlib.Path]:
    files = sorted(pathlib.Path(sysconfig.get_path("stdlib")).rglob("*.py"))
    return [file for file in files if "site-packages" not in file.parts and "lib2to3" not in file.parts]


@pytest.mark.long
def test_the_rewriter_leaves_every_file_as_it_is() -> None:
    compiled = 0
    for file in library():
        source = file.read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                plain = compile(source, str(file), "exec", dont_inherit=True)
            except (SyntaxError, ValueError):  # invalid input of CPython's own parser tests
                continue
            tree = ast.parse(source)
            changed = rewrite(tree, NPU)  # also over files that do not mention CUDA at all
            ours = compile(tree, str(file), "exec", dont_inherit=True)
        assert not changed, file
        assert written(ours) == written(plain), file
        compiled += 1
    assert compiled > 500


def test_the_loader_would_leave_all_but_one_to_python() -> None:
    mentioning = {file.name for file in library() if mentions_cuda(file.read_bytes())}
    assert mentioning <= {"entities.py"}, "an arrow of HTML is called cudarrl"

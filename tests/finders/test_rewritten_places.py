"""Rewritten code keeps the source's positions: tracebacks, lines, syntax errors, and too deep nesting."""

from __future__ import annotations

import dis
import pathlib
import traceback
from types import CodeType, SimpleNamespace
from typing import Any

import pytest

from morph.finders.rewriting import compiling
from morph.finders.rewriting.compilation import compile_source
from tests.finders.rewriting import NPU, is_rewritten


def test_traceback_shows_the_original_line_and_place(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "program.py"
    path.write_text('x = None\nprint(x and 1, 2 if x.type == "cuda" else 3)\n')
    with pytest.raises(AttributeError) as caught:
        exec(compile_source(path.read_bytes(), str(path), NPU), {})
    frame = traceback.extract_tb(caught.tb)[-1]
    assert (frame.lineno, frame.colno, frame.end_colno) == (2, 20, 26)
    assert frame.line == 'print(x and 1, 2 if x.type == "cuda" else 3)'


def test_lines_are_those_of_the_source() -> None:
    source = '"""Doc."""\n\n@print\n@str\ndef f(x):\n    return (\n        x.type\n        == "cuda"\n    )\n'
    assert is_rewritten(source)
    assert lines(compile_source(source, "<test>", NPU)) == lines(compile(source, "<test>", "exec"))


def lines(code: CodeType) -> set[int]:
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return {line for _, line in dis.findlinestarts(code)}.union(*map(lines, inner))


def test_syntax_errors_are_those_of_the_source() -> None:
    for source in ("x == 'cuda' (", "return 'cuda' == x", "def f(): x == 'cuda'; global x"):
        with pytest.raises(SyntaxError) as plain:
            compile(source, "<test>", "exec")
        with pytest.raises(SyntaxError) as ours:
            compile_source(source, "<test>", NPU)
        assert ours.value.args == plain.value.args


def test_source_too_deep_for_a_tree_is_compiled_with_a_warning() -> None:
    source = "a = 1\nb = " + " + ".join(["a"] * 1500) + "\nd = x.device.type == 'cuda'"
    with pytest.warns(UserWarning, match="too deeply"):
        code = compile_source(source, "<test>", NPU)
    names: dict[str, Any] = {"x": SimpleNamespace(device=SimpleNamespace(type="npu"))}
    exec(code, names)
    assert (names["b"], names["d"]) == (1500, False), "all of it, as it was written"
    exec(compile_source("d = x.device.type == 'cuda'", "<test>", NPU), names)
    assert names["d"]


def test_pythons_own_function_compiles_source_that_is_too_deep_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compiling, "_decides", SimpleNamespace(literals=lambda path, frame: NPU))
    terms = " + ".join(["a"] * 1500)
    names: dict[str, Any] = {"x": SimpleNamespace(device=SimpleNamespace(type="npu")), "a": 1}
    with pytest.warns(UserWarning, match="too deeply"):
        code = compiling.compile(f"b = {terms}\nd = x.device.type == 'cuda'", "<test>", "exec")
    exec(code, names)
    assert (names["b"], names["d"]) == (1500, False)
    exec(compiling.compile("d = x.device.type == 'cuda'", "<test>", "exec"), names)
    assert names["d"]

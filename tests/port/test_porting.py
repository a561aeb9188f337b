"""How source is ported, that nothing else in it changes, and the helpers that are copied into it."""

import ast
import difflib
import functools
import io
import itertools
import pathlib
import re
import tokenize
from collections import Counter
from typing import Any

import pytest
import torch

from morph.base import toml
from morph.source.port import prelude, stand_ins
from morph.source.port.porting import Ported, port, port_source
from morph.source.port.replacements import facts
from morph.source.port.vocabulary import PREFERRED
from morph.source.resolution import Resolution
from morph.source.scan.names import imported_names, is_known
from morph.source.scan.scanning import uses_of
from tests.platforms import REPOSITORY
from tests.scan import samples

CASES = toml.loads(pathlib.Path(__file__).with_name("cases.toml").read_text(encoding="utf-8"))["case"]
WHOLE = [*(REPOSITORY / "tests" / "programs").glob("[!t]*.py"), *samples.FILES]


def ported(source: str, path: str = "program.py") -> Ported:
    return port_source(source.encode(), path)


@functools.cache
def ported_file(file: pathlib.Path) -> Ported:
    return port(file)


def below_prelude(text: str) -> str:
    """Returns a module without its imports and the code inserted below them."""
    body = ast.parse(text).body
    rest = [*itertools.dropwhile(_is_prelude, body)]
    if not rest:
        return ""
    first = min([rest[0].lineno, *(each.lineno for each in getattr(rest[0], "decorator_list", ()))])
    lines = text.splitlines()
    while lines[first - 2].startswith("#"):
        first -= 1
    return "\n".join(lines[first - 1 :])


def _is_prelude(statement: ast.stmt) -> bool:
    match statement:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.FunctionDef() | ast.ClassDef():
            return ast.get_docstring(statement) is not None
        case ast.Assign():
            made = "current_accelerator|no accelerator|^(tensor_types|host_and_device|ranges) ="
            return re.search(made, ast.unparse(statement)) is not None
    return False


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["before"].splitlines()[-1][:40])
def test_cases(case: dict[str, Any]) -> None:
    source = case["before"] if case.get("whole") else f"import torch\n{case['before']}"
    result = ported(f"{source}\n")
    assert below_prelude(result.after.decode()) == case["after"]
    assert [each.name for each in result.left] == case.get("left", [])
    if "imports" in case:
        assert _imported(result.after.decode()) == case["imports"]


def _imported(text: str) -> list[str]:
    statements = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    return [name for statement in statements for _, name in imported_names(statement)]


def test_the_prelude_comes_after_the_imports() -> None:
    before = '''\
"""A program."""
from __future__ import annotations

import json
import sys

import torch


def f(x):
    return x.cuda()
'''
    after = '''\
"""A program."""
from __future__ import annotations

import json
import sys

import torch

device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")


def f(x):
    return x.to(device)
'''
    assert ported(before).after.decode() == after


def test_copies_import_what_they_need() -> None:
    lines = (
        ported("import json\nimport torch\ntime = 1\ntorch.cuda.Event().record()\n")
        .after.decode()
        .splitlines()
    )
    assert lines[:3] == ["import json", "import torch", "import time as time_module"]
    assert "        self.time = time_module.perf_counter()" in lines


def test_what_another_module_may_import_stays() -> None:
    source = "from torch.cuda.amp import autocast\n"
    left = ported(source, "package/__init__.py")
    assert (left.after.decode(), [each.name for each in left.left]) == (source, ["torch.cuda.amp.autocast"])
    listed = ported(f"{source}__all__ = ['autocast']\n")
    assert listed.before == listed.after
    assert ported(source).after.strip() == b""


def test_encoding_and_line_ends_stay() -> None:
    source = "# coding: latin-1\r\nimport torch\r\nname = 'é'\r\nx.cuda()\r\n".encode("latin-1")
    after = port_source(source, "program.py").after
    assert after.decode("latin-1").endswith("name = 'é'\r\nx.to(device)\r\n")
    assert b"\n" not in after.replace(b"\r\n", b"")


@pytest.mark.parametrize("file", WHOLE, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_whole_files(file: pathlib.Path) -> None:
    """Only lines about CUDA change, no comment of another line is lost, and porting is idempotent."""
    before = file.read_bytes()
    result = ported_file(file)
    lines = [text.decode().splitlines() for text in (before, result.after)]
    gone = [line[1:] for line in difflib.unified_diff(*lines, n=0) if re.match("-(?!--)", line)]
    assert all(_is_about_cuda(line) for line in gone) or file.parent == samples.FOLDER, gone
    lost = _comments(before) - _comments(result.after)
    assert all("#: " in comment or "an import" in comment for comment in lost), lost
    assert port_source(result.after, str(file)).after == result.after


ABOUT_CUDA = ("cuda", "CUDA", "torch.load(", "pin_memory", ".to(device", "nccl", "autocast", "Scaler(")
ABOUT_CUDA += ("record_stream", "device_ids", "ac(", "Event(", "amp.", "wait()", "Stream", "custom_")
ABOUT_CUDA += ("GradScaler", "synchronize", "side", "DDP(", "Tensor", "init_process")


def _is_about_cuda(line: str) -> bool:
    return any(word in line for word in ABOUT_CUDA)


def _comments(source: bytes) -> Counter[str]:
    tokens = tokenize.tokenize(io.BytesIO(source).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


def test_a_scan_of_ported_programs_finds_what_was_left() -> None:
    for file in WHOLE:
        result = ported_file(file)
        text = result.after.decode()
        uses = uses_of(Resolution(ast.parse(text)), text)
        found = {use.name for use in uses if not facts().keeps(use.name)}
        assert found <= {each.name for each in result.left}, file.name


def test_no_parameter_of_a_stand_in_hides_a_name_of_the_prelude() -> None:
    files = [pathlib.Path(prelude.__file__).with_name(name) for name in prelude.STAND_INS]
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    for function in (node for node in nodes if isinstance(node, ast.FunctionDef)):
        parameters = {parameter.arg for parameter in function.args.args}
        used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        for name in used & PREFERRED.keys():
            assert not parameters & {*PREFERRED[name]}, function.name


def test_replacements_are_of_names_that_torch_has() -> None:
    assert [name for name in facts().names if not is_known(name)] == []


@pytest.fixture
def accelerator(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """An accelerator of another name; returns the list of the indices that are made current."""
    current: list[int | None] = []
    monkeypatch.setattr(stand_ins, "default_device", torch.device("xpu"))
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "device_index", current.append)
    return current


def test_an_index_is_a_device_of_the_accelerator(accelerator: list[int | None]) -> None:
    assert stand_ins.device_at(None) == torch.device("xpu")
    assert [stand_ins.device_at(index) for index in (0, 1, "2", "cpu")] == [
        *(torch.device("xpu:0"), torch.device("xpu:1"), torch.device("xpu:2"), torch.device("cpu"))
    ]
    stand_ins.on_device(1)
    stand_ins.on_device("xpu:2")
    stand_ins.on_device(torch.device("xpu:3"))
    assert accelerator == [1, 2, 3]
    for nothing in (None, -1):
        with stand_ins.on_device(nothing):
            assert len(accelerator) == 3


def test_without_an_accelerator_every_index_is_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stand_ins, "default_device", torch.device("cpu"))
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    assert stand_ins.device_at(3) == torch.device("cpu")
    with stand_ins.on_device(3):
        pass

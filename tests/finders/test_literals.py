"""Which comparisons accept the vendor's spelling too, and which are left alone."""

from __future__ import annotations

import ast
import warnings

import pytest
import torch

from morph.finders.rewriting.compilation import compile_source
from morph.finders.rewriting.literals import HELPER, Literals, Word, rewritten
from tests.finders.rewriting import NPU, evaluate, execute, written

SEVERAL = Literals((Word("cuda", "npu"), Word("cuda", "xpu")))


@pytest.mark.parametrize("expression", ["found == Backend.NCCL", "dist.Backend.NCCL == found"])
def test_the_named_collective(expression: str) -> None:
    assert evaluate(expression, found="hccl", dist=torch.distributed, Backend=torch.distributed.Backend)
    assert not evaluate(expression, found="gloo", dist=torch.distributed, Backend=torch.distributed.Backend)


@pytest.mark.parametrize("value", ["cuda", "npu"])
@pytest.mark.parametrize(
    "expression",
    [
        "value == 'cuda'",
        "'cuda' == value",
        "not value != 'cuda'",
        "value == 'cuda' == value",
        "value in ('cuda', 'mps')",
        "value in ['mps', 'cuda']",
        "value in {'cuda'}",
        "not value not in ('cuda', other)",
        "value in ('cuda')",
        "value.startswith('cuda')",
        "value.startswith(('mps', 'cuda'))",
        "'cuda' in value",
        "'cuda' in {value, 'cpu'}",
        "'cuda' in [value]",
        "f'{value}:0' == 'cuda:0'",
        "f'{value}:1'.startswith('cuda:')",
        "'cuda' in f'{value}:1'",
        "f'torch.{value}.FloatTensor' == 'torch.cuda.FloatTensor'",
        "f'torch.{value}.HalfTensor'.startswith('torch.cuda')",
        "'cuda' in f'torch.{value}.FloatTensor'",
        "f\"{value == 'cuda'}\" == 'True'",
        "[each for each in [value] if each == 'cuda'] == [value]",
        "(lambda device: device == 'cuda')(value)",
        "('gpu' if value == 'cuda' else 'cpu') == 'gpu'",
    ],
)
def test_both_spellings_are_accepted(expression: str, value: str) -> None:
    assert evaluate(expression, value=value, other="cpu") is True


@pytest.mark.parametrize(
    "value", ["cpu", "npux", "xnpu", "NPU", "npu_model.pt", "/data/npu/cuda.pt", "", 0, None, ("npu",)]
)
@pytest.mark.parametrize(
    "expression",
    [
        "value == 'cuda'",
        "value != 'cuda'",
        "value in ('cuda', 'mps')",
        "value not in {'cuda:0'}",
        "value == 'cuda:0'",
    ],
)
def test_other_values_compare_as_before(expression: str, value: object) -> None:
    assert evaluate(expression, value=value) == eval(expression, {"value": value})


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("value == 'cuda'", {"value": "npu:0"}),
        ("value == 'cuda:1'", {"value": "npu:0"}),
        ("value == 'cuda:0'", {"value": "npu"}),
        ("'cuda' in value", {"value": "/data/npu"}),
        ("value.startswith('cuda')", {"value": "npu_model.pt"}),
        ("value == 'cuda'", {"value": "hccl"}),
        ("value == 'nccl'", {"value": "npu"}),
    ],
)
def test_what_is_false_on_cuda_stays_false(expression: str, names: dict[str, str]) -> None:
    assert evaluate(expression, **names) is False


@pytest.mark.parametrize(
    "source",
    [
        "value is 'cuda'",
        "table['cuda']",
        "function('cuda', device='cuda')",
        "value = 'cuda'",
        "value == ('cuda', 0)",
        "value < 'cuda'",
        "other == value < 'cuda'",
        "value.endswith('cuda')",
        "value.startswith('cuda', 1)",
        "'cuda' == 'cuda'",
        "'cuda' in {'cuda': 0}",
        "value == 'cudagraph'",
        "f'cuda{value}'",
        "value == 'cuda' or value == 'npu'",
        "value in ('cuda', 'npu')",
        "value.startswith(('cuda', 'npu:'))",
        "1 if value == 'cuda' else 2 if value == 'npu' else 3",
        "if value == 'cuda': pass\nelif value == 'npu': pass",
        "match value:\n case 'cuda': pass\n case 'npu': pass",
    ],
)
def test_everything_else_is_left_alone(source: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # the `is`
        assert rewritten(source, "<test>", NPU) is None
        plain = compile(source, "<test>", "exec", dont_inherit=True)
        assert written(compile_source(source, "<test>", NPU)) == written(plain)


def test_bodies_of_decisions_that_name_the_vendor_are_rewritten() -> None:
    tests = "if a == 'cuda': b = a\nelif a == 'npu': b = a == 'npu' or c == 'cuda'\n"
    source = tests + "else: b = c == 'cuda'"
    tree = rewritten(source, "<test>", NPU)
    assert tree is not None
    assert ast.unparse(tree).count(f"{HELPER}(") == 1


def test_match() -> None:
    source = """
match value:
    case "cuda":
        result = "whole"
    case ["cuda:1" | "mps", {"cuda": "cuda"}] | {"type": "cuda"}:
        result = "part"
    case other:
        result = other
"""
    expected = {"cuda": "whole", "npu": "whole", "npu:0": "npu:0", "cpu": "cpu"}
    for value, result in expected.items():
        assert execute(source, value=value)["result"] == result
    assert execute(source, value=["npu:1", {"cuda": "npu"}])["result"] == "part"
    assert execute(source, value={"type": "npu"})["result"] == "part"
    assert execute(source, value=["npu:1", {"npu": "npu"}])["result"] == ["npu:1", {"npu": "npu"}]


def test_several_vendors() -> None:
    for value in ("cuda", "npu", "xpu"):
        assert evaluate("value == 'cuda' and value in ('cuda', 'mps')", SEVERAL, value=value) is True
    assert evaluate("value == 'cuda' or value == 'xpu'", SEVERAL, value="npu") is True
    assert evaluate("1 if value == 'cuda' else 2 if value == 'xpu' else 3", SEVERAL, value="xpu") == 2

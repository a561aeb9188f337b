from __future__ import annotations

import ast
import dis
import enum
import marshal
import os
import pathlib
import sysconfig
import traceback
import warnings
from types import CodeType
from typing import Any

import numpy as np
import pytest
import torch

from morph.finders.literals import HELPER, Literals, Word, compile_source, rewritten
from morph.finders.spelling import cuda_spelling

NPU = Literals((Word("cuda", "npu"), Word("nccl", "hccl")))
SEVERAL = Literals((Word("cuda", "npu"), Word("cuda", "xpu")))
WHOLE_LIBRARY = "MORPH_TEST_WHOLE_LIBRARY"


def evaluate(expression: str, literals: Literals = NPU, **names: Any) -> Any:
    namespace = dict(names)
    exec(compile_source(f"result = ({expression})", "<test>", literals), namespace)
    return namespace["result"]


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


def execute(source: str, **names: Any) -> dict[str, Any]:
    exec(compile_source(source, "<test>", NPU), names)
    return names


def test_several_vendors() -> None:
    for value in ("cuda", "npu", "xpu"):
        assert evaluate("value == 'cuda' and value in ('cuda', 'mps')", SEVERAL, value=value) is True
    assert evaluate("value == 'cuda' or value == 'xpu'", SEVERAL, value="npu") is True
    assert evaluate("1 if value == 'cuda' else 2 if value == 'xpu' else 3", SEVERAL, value="xpu") == 2


def test_operands_are_evaluated_once_and_in_order() -> None:
    seen: list[str] = []

    def spell(index: int) -> str:
        seen.append(str(index))
        return ["npu", "cpu", "a"][index]

    both = "spell(0) == 'cuda' and spell(1) == 'cuda' and spell(2) == 'cuda'"
    assert evaluate(both, spell=spell) is False
    assert evaluate("spell(2) == spell(0) == 'cuda' == spell(1)", spell=spell) is False
    assert seen == ["0", "1", "2", "0"]


class Overloaded:
    def __eq__(self, other: object) -> Any:
        return ["equal", other]

    def __ne__(self, other: object) -> Any:
        return ["unequal", other]

    def __contains__(self, item: object) -> bool:
        return item == "cuda"

    def startswith(self, prefix: object) -> Any:
        return ["starts", prefix]


def test_overloaded_comparisons_keep_their_results() -> None:
    value = Overloaded()
    assert evaluate("value == 'cuda'", value=value) == ["equal", "cuda"]
    assert evaluate("'cuda' != value", value=value) == ["unequal", "cuda"]
    assert evaluate("value.startswith('cuda')", value=value) == ["starts", "cuda"]
    assert evaluate("'cuda' in value", value=value) is True


def test_arrays_and_enumerations_compare_as_before() -> None:
    array = np.array(["cuda", "npu", "cpu"])
    assert evaluate("array == 'cuda'", array=array).tolist() == [True, False, False]
    assert evaluate("array != 'cuda'", array=array).tolist() == [False, True, True]

    class Kind(enum.StrEnum):
        NPU = "npu"

    assert evaluate("kind == 'cuda'", kind=Kind.NPU) is False
    assert cuda_spelling(array, "npu", "cuda") is array


def test_names_of_the_module() -> None:
    names = execute("a = value == 'cuda'", value="npu")
    assert names.keys() - {"__builtins__", "value", "a"} == {HELPER}
    assert HELPER.startswith("_")  # so that `from module import *` leaves it out
    assert execute("a = value in ('cuda', 'mps')", value="npu").keys() == {"__builtins__", "value", "a"}


def test_docstring_and_future_statements_stay_first() -> None:
    source = '"""Doc."""\nfrom __future__ import annotations\ndef f(x: absent): return x == "cuda"'
    names = execute(source)
    assert names["__doc__"] == "Doc."
    assert names["f"]("npu") is True
    assert names["f"].__annotations__ == {"x": "absent"}


def test_comparisons_in_classes_and_closures() -> None:
    source = """
class Model:
    __device = "npu"
    on_gpu = __device == "cuda"
    def check(self):
        return (lambda: self.__device == "cuda")()
"""
    model = execute(source)["Model"]
    assert model.on_gpu is True
    assert model().check() is True


def test_traceback_shows_the_original_line_and_place(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "program.py"
    path.write_text('x = None\nprint(x and 1, 2 if x.type == "cuda" else 3)\n')
    with pytest.raises(AttributeError) as caught:
        exec(compile_source(path.read_bytes(), str(path), NPU), {})
    frame = traceback.extract_tb(caught.tb)[-1]
    assert (frame.lineno, frame.colno, frame.end_colno) == (2, 20, 26)
    assert frame.line == 'print(x and 1, 2 if x.type == "cuda" else 3)'


def test_lines_are_those_of_the_source() -> None:
    source = '"""Doc."""\n\n@print\n@str\ndef f(x):\n    return (\n        x\n        == "cuda"\n    )\n'
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
    source = "a = 1\nb = " + " + ".join(["a"] * 1500) + "\nc = 'npu' == 'cuda'\nd = str() == 'cuda'"
    with pytest.warns(UserWarning, match="too deeply"):
        code = compile_source(source, "<test>", NPU)
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["b"] == 1500


def written(code: CodeType) -> bytes:
    return marshal.dumps(code, 2)  # later formats record which objects happen to be shared


def library() -> list[pathlib.Path]:
    files = sorted(pathlib.Path(sysconfig.get_path("stdlib")).rglob("*.py"))
    chosen = [file for file in files if "site-packages" not in file.parts and "lib2to3" not in file.parts]
    return chosen if os.environ.get(WHOLE_LIBRARY) else chosen[::8]


def test_the_standard_library_compiles_to_identical_code() -> None:
    compiled = 0
    for file in library():
        source = file.read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                plain = compile(source, str(file), "exec", dont_inherit=True)
            except (SyntaxError, ValueError):  # what CPython's own tests feed its parser with
                continue
            assert rewritten(source, str(file), NPU) is None, file
            through_a_tree = compile(ast.parse(source), str(file), "exec", dont_inherit=True)
            ours = compile_source(source, str(file), NPU)
        assert written(ours) == written(plain), file
        assert written(through_a_tree) == written(plain), file
        compiled += 1
    assert compiled > 50

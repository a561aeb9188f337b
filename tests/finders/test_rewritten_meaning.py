"""Rewritten code does what it did: operands, overloaded comparisons, names, statements that come first."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from morph.finders.rewriting.literals import HELPER
from morph.finders.rewriting.spelling import cuda_spelling
from tests.finders.rewriting import evaluate, execute


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

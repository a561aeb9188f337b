"""Rewritten code keeps its meaning: operands, overloaded comparisons, names, leading statements."""

from __future__ import annotations

import enum
import types
import unittest.mock
from typing import Any

import numpy as np
import pytest

from tests.finders.rewriting import evaluate, execute


def test_operands_are_evaluated_once_and_in_order() -> None:
    seen: list[str] = []

    def device(index: int) -> str:
        seen.append(str(index))
        return ["npu", "cpu", "a"][index]

    both = "device(0) == 'cuda' and device(1) == 'cuda' and device(2) == 'cuda'"
    assert evaluate(both, device=device) is False
    assert evaluate("device(2) == device(0) == 'cuda' == device(1)", device=device) is False
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
    assert evaluate("device == 'cuda'", device=value) == ["equal", "cuda"]
    assert evaluate("'cuda' != device", device=value) == ["unequal", "cuda"]
    assert evaluate("device.startswith('cuda')", device=value) == ["starts", "cuda"]
    assert evaluate("'cuda' in device", device=value) is True


def test_arrays_and_enumerations_compare_as_before() -> None:
    array = np.array(["cuda", "npu", "cpu"])
    assert evaluate("device == 'cuda'", device=array).tolist() == [True, False, False]
    assert evaluate("device != 'cuda'", device=array).tolist() == [False, True, True]

    class Kind(str, enum.Enum):
        NPU = "npu"

    assert evaluate("device == 'cuda'", device=Kind.NPU) is False


def test_a_mock_of_text_is_compared_as_before() -> None:
    mock = unittest.mock.Mock(spec=str)
    assert evaluate("device == 'cuda'", device=mock) is False
    assert mock.mock_calls == []


def test_no_names_come_to_the_module() -> None:
    for source in ("a = device == 'cuda'", "a = 'cuda' in devices", "a = device in ('cuda', 'mps')"):
        names = execute(source, device="npu", devices=["npu"])
        assert names.keys() == {"__builtins__", "device", "devices", "a"}
        assert names["a"] is True


def test_code_needs_no_globals() -> None:
    function = execute("def f(device, devices): return device == 'cuda' and 'cuda' in devices")["f"]
    assert types.FunctionType(function.__code__, {})("npu:0", ["npu"]) is False
    assert types.FunctionType(function.__code__, {})("npu", ("cpu", "npu")) is True


@pytest.mark.parametrize("name", ["type", "str", "list", "set"])
def test_names_of_python_s_own_that_a_file_has_otherwise(name: str) -> None:
    source = f"def f(device, devices, {name}): return device == 'cuda' and 'cuda' in devices"
    assert execute(source)["f"]("npu", {"npu"}, None) is True
    assert execute(f"{name} = None\n{source.replace(name, 'x')}")["f"]("npu", ["npu"], None) is True


@pytest.mark.parametrize(
    "source",
    [
        "CUDA = 'cuda'\nfound = x.device.type == CUDA",
        "SUPPORTED = ('cuda', 'cpu')\nfound = x.device.type in SUPPORTED",
        "SUPPORTED = frozenset(['cuda', 'cpu'])\nfound = not x.device.type not in SUPPORTED",
        "class A:\n  ok = {'cuda'}\n  def f(self, t): return t.type in self.ok\nfound = A().f(x.device)",
        "class A:\n  def __init__(self): self.device_type = 'cuda'\nfound = x.device.type == A().device_type",
        "class A:\n  def __init__(self): self.kind = x.device.type\nfound = A().kind == 'cuda'",
        "def kind(t): return t.device.type\nfound = kind(x) == 'cuda'",
        "def on_gpu(t): return t == 'cuda'\nfound = on_gpu(x.device.type)",
        "found = 'cuda:1' in [str(x.device)]",
        "found = 'cuda' in {each.device.type for each in [x]}",
        "kinds = sorted({each.device.type for each in [x]})\nfound = 'cuda' in kinds",
        "d = str(x.device)\nfound = d.startswith('cuda:') and int(d[5:]) == 1",
        "found = str(x.device)[:4] == 'cuda' and f'{x.device}'.removeprefix('cuda:') == '1'",
        "found = str(x.device).split(':')[0] == 'cuda' and str(x.device).replace('cuda:', '') == '1'",
        "kind, _, index = str(x.device).partition(':')\nfound = str(x.device).partition(':')[0] == 'cuda'",
        "table = {'cuda': True, 'cpu': False}\nfound = x.device.type in table and table[x.device.type]",
        "found = {'cuda': True, 'cpu': False}[x.device.type]",
        "found = dict(cuda=True).get(x.device.type, False)",
        "found = (t := x.device.type) == 'cuda' and t in ('cuda',)",
        "import re\nfound = re.match('cuda', str(x.device)) is not None",
        "import re\nfound = re.search('cuda', str(x.device)) is not None",
        "import re\nfound = re.fullmatch('cuda:1', str(x.device)) is not None",
        "found = format(x.device) == 'cuda:1' and format(x.device.type) == 'cuda'",
        "found = x.type() == 'torch.cuda.FloatTensor' and 'cuda' in x.type()",
        "found = getattr(x.device, 'type') == 'cuda'",
        "wanted = next(iter(['cuda']))\nfound = x.device.type == wanted and wanted == x.device.type",
        "def outer():\n  global kind\n  kind = x.device.type\nouter()\nfound = kind == 'cuda'",
        "for t in [each.device.type for each in [x]]:\n  found = t == 'cuda'",
        "found = '%s' % x.device == 'cuda:1' and '{}'.format(x.device) == 'cuda:1'",
        "f = lambda t=x.device.type: t == 'cuda'\nfound = f()",
        "found = [t == 'cuda' for t, _ in zip([x.device.type], [1])][0]",
        "found = [t == 'cuda' for i, t in enumerate([x.device.type])][0]",
        "class A:\n  def f(self, kind): return kind == 'cuda'\nfound = A().f(x.device.type)",
        "class A:\n  @property\n  def kind(self): return x.device.type\nfound = A().kind == 'cuda'",
        "t = ''\nt += x.device.type\nfound = t == 'cuda'",
        "found = 'cuda:1' in list(map(str, [x.device]))",
        "found = any(k in x.device.type for k in ('cuda', 'mps'))",
        "found = any(str(x.device).startswith(k) for k in ('cuda', 'mps'))",
        "def types():\n  yield x.device.type\nfound = all(t == 'cuda' for t in types())",
        "import unittest\ncase = unittest.TestCase()\ncase.assertEqual(x.device.type, 'cuda')\n"
        "case.assertIn('cuda', str(x.device))\nfound = True",
    ],
)
def test_what_provably_is_of_a_device_is_as_on_cuda(source: str) -> None:
    names = execute(source, x=Tensor("npu"))
    assert names["found"] is True
    plain: dict[str, Any] = {"x": Tensor("cuda")}
    exec(source, plain)
    assert plain["found"] is True


class Tensor:
    def __init__(self, kind: str) -> None:
        self.device = Device(kind)

    def type(self) -> str:
        return f"torch.{self.device.type}.FloatTensor"


class Device:
    def __init__(self, kind: str) -> None:
        self.type = kind

    def __str__(self) -> str:
        return f"{self.type}:1"


def test_docstring_and_future_statements_stay_first() -> None:
    source = '"""Doc."""\nfrom __future__ import annotations\ndef f(device: absent): return device == "cuda"'
    names = execute(source)
    assert names["__doc__"] == "Doc."
    assert names["f"]("npu") is True
    assert names["f"].__annotations__ == {"device": "absent"}


def test_comparisons_in_classes_and_closures() -> None:
    source = """
class Model:
    __device = given
    on_gpu = __device == "cuda"
    def check(self):
        return (lambda: self.__device == "cuda")()
"""
    model = execute(source, given="npu")["Model"]
    assert model.on_gpu is True
    assert model().check() is True

"""Which comparisons accept the vendor's spelling too, and which are left alone."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import pytest
import torch

from morph.finders.rewriting.comparisons import rewritten
from morph.finders.rewriting.compilation import compile_source
from morph.finders.rewriting.literals import Literals, Word
from tests.finders.rewriting import NPU, evaluate, execute, is_rewritten, written

SEVERAL = Literals((Word("cuda", "npu"), Word("cuda", "xpu")))


@pytest.mark.parametrize("expression", ["found == Backend.NCCL", "dist.Backend.NCCL == found"])
def test_the_named_collective(expression: str) -> None:
    assert evaluate(expression, found="hccl", dist=torch.distributed, Backend=torch.distributed.Backend)
    assert not evaluate(expression, found="gloo", dist=torch.distributed, Backend=torch.distributed.Backend)


@pytest.mark.parametrize("device", ["cuda", "npu"])
@pytest.mark.parametrize(
    "expression",
    [
        "device == 'cuda'",
        "'cuda' == device",
        "not device != 'cuda'",
        "device == 'cuda' == device",
        "device in ('cuda', 'mps')",
        "device in ['mps', 'cuda']",
        "device in {'cuda'}",
        "not device not in ('cuda', other)",
        "device in ('cuda')",
        "device.startswith('cuda')",
        "device.startswith(('mps', 'cuda'))",
        "'cuda' in device",
        "'cuda' in {device, 'cpu'}",
        "'cuda' in [device]",
        "f'{device}:0' == 'cuda:0'",
        "f'{device}:1'.startswith('cuda:')",
        "'cuda' in f'{device}:1'",
        "f'torch.{device}.FloatTensor' == 'torch.cuda.FloatTensor'",
        "f'torch.{device}.HalfTensor'.startswith('torch.cuda')",
        "'cuda' in f'torch.{device}.FloatTensor'",
        "f\"{device == 'cuda'}\" == 'True'",
        "[each for each in [device] if each == 'cuda'] == [device]",
        "(lambda device: device == 'cuda')(device)",
        "('gpu' if device == 'cuda' else 'cpu') == 'gpu'",
    ],
)
def test_both_spellings_are_accepted(expression: str, device: str) -> None:
    assert evaluate(expression, device=device, other="cpu") is True


@pytest.mark.parametrize(
    "device", ["cpu", "npux", "xnpu", "NPU", "npu_model.pt", "/data/npu/cuda.pt", "", 0, None, ("npu",)]
)
@pytest.mark.parametrize(
    "expression",
    [
        "device == 'cuda'",
        "device != 'cuda'",
        "device in ('cuda', 'mps')",
        "device not in {'cuda:0'}",
        "device == 'cuda:0'",
    ],
)
def test_other_devices_compare_as_before(expression: str, device: object) -> None:
    assert evaluate(expression, device=device) == eval(expression, {"device": device})


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("device == 'cuda'", {"device": "npu:0"}),
        ("device == 'cuda:1'", {"device": "npu:0"}),
        ("device == 'cuda:0'", {"device": "npu"}),
        ("'cuda' in device", {"device": "/data/npu"}),
        ("device.startswith('cuda')", {"device": "npu_model.pt"}),
        ("device == 'cuda'", {"device": "hccl"}),
        ("backend == 'nccl'", {"backend": "npu"}),
        ("word == 'cuda'", {"word": "npu"}),
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
        "device == 'cuda' or device == 'npu'",
        "device in ('cuda', 'npu')",
        "device.startswith(('cuda', 'npu:'))",
        "1 if device == 'cuda' else 2 if device == 'npu' else 3",
        "if device == 'cuda': pass\nelif device == 'npu': pass",
        "match device:\n case 'cuda': pass\n case 'npu': pass",
        "'cuda' in sys.argv and sys.argv.remove('cuda')",
        "word = next(words)\nif word == 'cuda': pass",
        "if word.startswith('cuda'): word = word[4:]",
        "for device in ('cuda', 'cpu'):\n  if device == 'cuda': pass",
        "kinds = [x.device.type]\nif 'cuda' in kinds: kinds.remove('cuda')",
        "kinds = {x.device.type}\nif 'cuda' in kinds: kinds.discard('cuda')",
        "kinds = [x.device.type]\nif 'cuda' in kinds: at = kinds.index('cuda')",
        "device = 'cpu'\nif device == 'cuda': pass",
        "device.type == 'cpu'",
        "device.type == None",
        "device is 'cuda'",
        "device.type < 'cuda'",
        "device.type == ('cuda', 0)",
    ],
)
def test_everything_else_is_left_alone(source: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # about the `is`
        assert rewritten(source, "<test>", NPU) is None
        plain = compile(source, "<test>", "exec", dont_inherit=True)
        assert written(compile_source(source, "<test>", NPU)) == written(plain)


@pytest.mark.parametrize(
    "decision",
    [
        "if a.type == 'cuda': b = 1\nelif a.type == 'npu': b = 2",
        "if a.type == 'cuda': b = 1\nif a.type == 'npu': b = 2",
        "def cuda(d): return d.type == 'cuda'\ndef npu(d): return d.type == 'npu'",
        "b = {'cuda': 1, 'npu': 2}[a.type]\nc = a.type == 'cuda'",
        "match a.type:\n case 'cuda': b = 1\n case 'npu': b = 2",
        "VENDOR = 'npu'\nb = a.type == 'cuda'\nc = a.type == VENDOR",
        "b = a.type == 'cuda'\nc = a.type in ('npu', 'mlu')",
        "b = a.type == 'cuda'\nc = a.type.startswith('npu')",
    ],
)
def test_a_file_that_tells_the_vendor_from_cuda_is_left_alone(decision: str) -> None:
    assert not is_rewritten(decision)
    assert is_rewritten(decision, Literals((Word("cuda", "xpu"),)))


def test_a_list_of_platforms_does_not_tell_them_apart() -> None:
    source = "SUPPORTED = ('cuda', 'npu')\na = x.type in SUPPORTED\nb = x.type == 'cuda'"
    names = execute(source, x=SimpleNamespace(type="npu"))
    assert names["a"] is names["b"] is True


def test_what_a_file_says_to_others_tells_nothing_apart() -> None:
    source = "d = 'npu'\na = d == 'cuda'\nb = x.type == 'cuda'\nx.to('npu')"
    names = execute(source, x=SimpleNamespace(type="npu", to=str))
    assert (names["a"], names["b"]) == (False, True)


def test_match() -> None:
    source = """
match device:
    case "cuda":
        result = "whole"
    case ["cuda:1" | "mps", {"cuda": "cuda"}] | {"type": "cuda"}:
        result = "part"
    case other:
        result = other
"""
    expected = {"cuda": "whole", "npu": "whole", "npu:0": "npu:0", "cpu": "cpu"}
    for value, result in expected.items():
        assert execute(source, device=value)["result"] == result
    assert execute(source, device=["npu:1", {"cuda": "npu"}])["result"] == "part"
    assert execute(source, device={"type": "npu"})["result"] == "part"
    assert execute(source, device=["npu:1", {"npu": "npu"}])["result"] == ["npu:1", {"npu": "npu"}]
    assert not is_rewritten(source.replace("device", "word"))


def test_match_by_a_device_s_type() -> None:
    source = "match x:\n case SimpleNamespace(type='cuda'): result = True\n case _: result = False"
    assert execute(source, x=SimpleNamespace(type="npu"), SimpleNamespace=SimpleNamespace)["result"]


def test_several_vendors() -> None:
    for value in ("cuda", "npu", "xpu"):
        assert (
            evaluate("kind.type == 'cuda' and kind.type in ('cuda', 'mps')", SEVERAL, kind=kind_of(value))
            is True
        )
    assert evaluate("kind.type == 'cuda' or kind.type == 'xpu'", SEVERAL, kind=kind_of("npu")) is True
    assert (
        evaluate("1 if kind.type == 'cuda' else 2 if kind.type == 'xpu' else 3", SEVERAL, kind=kind_of("xpu"))
        == 2
    )


def kind_of(value: str) -> SimpleNamespace:
    return SimpleNamespace(type=value)

"""What a program sees of its device: CUDA's words, and the vendor's where it names these."""

import _thread
import collections
import gc
import queue
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch

from morph import backends
from tests.device.uses import USES
from tests.platforms import ACCELERATORS, Platform

accelerators = pytest.mark.platforms(*ACCELERATORS)


def function(text: str, module: str = "train") -> Callable[..., Any]:
    """Returns the function `f` that the text defines in a module of that name."""
    namespace: dict[str, Any] = {"__name__": module, "torch": torch}
    exec(text, namespace)
    defined: Callable[..., Any] = namespace["f"]
    return defined


@pytest.mark.parametrize("name", USES)
def test_a_use_is_as_on_cuda(name: str) -> None:
    tensor = torch.ones(2, device="cuda:0")
    assert USES[name](tensor.device, tensor) is True


@accelerators
def test_torch_the_vendor_and_packages_that_support_it_see_its_device(platform: Platform) -> None:
    backend, d = backends.active(), torch.device("cuda:0")
    assert backend is not None
    for name in filter(None, ["torch", "functorch", backend.vendor, *backend.table.facts.native]):
        asked = function("def f(d): return d.type, str(d), repr(d)", f"{name}.inner")(d)
        own = platform.device_type
        assert asked == (own, f"{own}:0", f"device(type='{own}', index=0)"), name
        assert function("def f(d): return eval('str(d)', {'d': d})", name)(d) == f"{own}:0", (
            "as its caller sees it"
        )
        dumped = function("import json\ndef f(d): return json.dumps([d], default=str)", name)(d)
        assert dumped == f'["{own}:0"]', "as who calls Python's own library sees it"
        assert function("def f(x): return x.type()", name)(torch.ones(1).cuda()).startswith(f"torch.{own}.")
        assert f"device='{own}:0'" in function("def f(x): return repr(x)", name)(torch.ones(1).cuda())


@accelerators
@pytest.mark.parametrize(
    "text",
    [
        "def f(d): return d.type == OWN",
        "def f(d): return d.type in (OWN, 'xla')",
        "def f(d): return str(d) == OWN_ZERO",
        "def f(d): return [each for each in [d] if each.type == OWN] == [d]",
        "def f(d): return (lambda: d.type == OWN)()",
        "def f(d):\n match d.type:\n  case 'cuda': return False\n  case OWN: return True",
        "def f(d): return torch.ones(1, device=d).type() == OWN_TYPE",
    ],
)
def test_code_that_names_the_vendors_device_sees_it(text: str, platform: Platform) -> None:
    own = platform.device_type
    named = text.replace("OWN_ZERO", repr(f"{own}:0")).replace("OWN_TYPE", repr(f"torch.{own}.FloatTensor"))
    assert function(named.replace("OWN", repr(own)))(torch.device("cuda:0")) is True


@accelerators
@pytest.mark.parametrize(
    "text",
    [
        "def f(d): return d.type in ('cuda', OWN) and d.type == 'cuda'",
        "def f(d):\n def other(d): return d.type == OWN\n return d.type == 'cuda'",
        "def f(d):\n assert d.type == 'cuda', 'there is a way for OWN too'\n return True",
        "def g(d): return d.type == OWN\ndef f(d): return d.type == 'cuda' and g(d)",
    ],
)
def test_other_code_does_not(text: str, platform: Platform) -> None:
    named = text.replace("for OWN", f"for {platform.device_type}").replace("OWN", repr(platform.device_type))
    assert function(named)(torch.device("cuda:0")) is True


@accelerators
def test_text_of_the_vendors_name_is_not_cudas(platform: Platform) -> None:
    own = platform.device_type
    assert function("def f(device): return device == 'cuda'")(own) is False
    assert function("def f(o): return o.type == 'cuda'")(type("Other", (), {"type": own})) is False


def test_a_thread_without_frames() -> None:
    answers: queue.SimpleQueue[str] = queue.SimpleQueue()
    asked = map(answers.put, map(str, [torch.device("cuda:0")]))
    _thread.start_new_thread(collections.deque[None](maxlen=0).extend, (asked,))
    assert answers.get(timeout=10) == "cuda:0"


def test_a_module_that_asked_is_not_kept_alive() -> None:
    class Kept: ...

    ask = function("def f(d): return d.type")
    ask.__globals__["kept"] = kept = Kept()
    alive = weakref.ref(kept)
    assert ask(torch.device("cuda")) == "cuda"
    del ask, kept
    gc.collect()
    assert alive() is None

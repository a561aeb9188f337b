"""Predicates depend on the caller: what `torch.cuda.is_available` and others return to each kind of code."""

import _thread
import code
import collections
import concurrent.futures
import operator
import queue
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch

from morph import backends
from tests.platforms import ACCELERATORS

USERS = ("__main__", "__mp_main__", "__console__", "train", "sam2.build", "morph_user", "torchvision.ops", "")
PREDICATES = (
    "torch.cuda.is_available()",
    "torch.cuda.device_count() > 0",
    "torch.cuda._is_compiled()",
    "torch.backends.cuda.is_built()",
    "torch.backends.cudnn.is_available()",
    "torch.backends.cudnn.version() is not None",
    "torch.distributed.is_nccl_available()",
)
AVAILABLE = PREDICATES[0]


def asking(module: str | None, expression: str = AVAILABLE) -> Callable[..., Any]:
    """Return a function that evaluates the expression in a module of that name; None means no module name."""
    namespace: dict[str, Any] = {"torch": torch} if module is None else {"torch": torch, "__name__": module}
    exec(f"def ask(*arguments): return {expression}", namespace)
    function: Callable[..., Any] = namespace["ask"]
    return function


def truthful() -> list[str]:
    """Return the packages that support the current backend natively."""
    backend = backends.active()
    assert backend is not None
    return [*filter(None, [backend.vendor]), *backend.table.facts.native]


def test_user_code_sees_cuda() -> None:
    for module in USERS:
        assert [asking(module, each)() for each in PREDICATES] == [True] * len(PREDICATES), module
        assert asking(module, "torch.version.cuda")() is not None


@pytest.mark.platforms(*ACCELERATORS)
def test_torch_the_vendor_and_those_that_speak_its_language_are_told_the_truth() -> None:
    is_for_cuda = "USE_CUDA=0" not in torch.__config__.show()
    predicates = PREDICATES[:2] if is_for_cuda else PREDICATES  # a build for CUDA says so to torch
    for name in ("torch", "functorch", *truthful()):
        for module in (name, f"{name}.inner.module"):
            assert [asking(module, each)() for each in predicates] == [False] * len(predicates), module
    assert (asking("torch.utils", "torch.version.cuda")() is not None) == is_for_cuda


@pytest.mark.platforms(*ACCELERATORS)
def test_what_exec_runs_asks_for_who_calls_it() -> None:
    for text in (f"eval({AVAILABLE!r})", f"eval({AVAILABLE!r}, {{'torch': torch}})"):
        assert asking("train", text)() is True
        assert asking("torch.fx", text)() is False
    nameless = asking(None)
    assert asking("train", "arguments[0]()")(nameless) is True
    assert asking("torch.fx", "arguments[0]()")(nameless) is False


def test_a_notebooks_cell() -> None:
    cell = "seen = torch.cuda.is_available()\ndef later(): return torch.cuda.is_available()"
    for name in ("__main__", "__console__"):
        namespace: dict[str, Any] = {"__name__": name, "torch": torch}
        assert not code.InteractiveInterpreter(namespace).runsource(cell, symbol="exec")
        assert namespace["seen"] is namespace["later"]() is True


@pytest.mark.platforms(*ACCELERATORS)
def test_pythons_own_library_asks_for_who_calls_it() -> None:
    through = "__import__('unittest.mock').mock.Mock(side_effect=torch.cuda.is_available)()"
    for module, answer in {"train": True, "torch._dynamo": False}.items():
        assert asking(module, through)() is answer


@pytest.mark.platforms(*ACCELERATORS)
def test_a_thread_of_a_pool() -> None:
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert pool.submit(torch.cuda.is_available).result() is True
        assert pool.submit(asking("train")).result() is True
        assert pool.submit(asking("torch.distributed.rpc")).result() is False
    answers: queue.SimpleQueue[bool] = queue.SimpleQueue()
    threading.Thread(target=lambda: answers.put(torch.cuda.is_available())).start()
    assert answers.get(timeout=10) is True


@pytest.mark.platforms(*ACCELERATORS)
def test_a_caller_in_c() -> None:
    through = "list(map(__import__('operator').methodcaller('__call__'), [torch.cuda.is_available]))"
    assert asking("train", through)() == [True]
    assert asking("torch.fx", through)() == [False]
    answers: queue.SimpleQueue[object] = queue.SimpleQueue()
    asked = map(operator.methodcaller("__call__"), [torch.cuda.is_available, lambda: torch.version.cuda])
    looked = map(getattr, [torch.version, torch.cuda], ["cuda", "never_asked_before"], [None, "absent"])
    for each in asked, looked:  # in a thread without Python frames
        feed = collections.deque[None](maxlen=0).extend
        _thread.start_new_thread(feed, (map(answers.put, each),))
    told = [answers.get(timeout=10) for _ in range(4)]
    assert told.count("absent") == 1
    assert None not in told

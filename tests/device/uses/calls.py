"""A device's type through functions: those of Python in C, wrappers, callbacks, text that is compiled."""

from __future__ import annotations

import argparse
import contextlib
import copy
import dataclasses
import functools
import io
import logging
import operator
import pickle
import pprint
import threading
import types
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch


class Runner:
    """Dispatches by name."""

    def run_cuda(self) -> bool:
        return True


@dataclasses.dataclass
class Settings:
    device: Any
    kind: str = ""


def printed(*values: object) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print(*values)
    return out.getvalue()


def logged(text: str, *values: object) -> str:
    out = io.StringIO()
    logger = logging.Logger("uses")
    logger.addHandler(logging.StreamHandler(out))
    logger.warning(text, *values)
    return out.getvalue()


def executed(text: str, **names: Any) -> Any:
    namespace = {"__name__": "__main__", "torch": torch, **names}
    exec(text, namespace)
    return namespace["out"]


def in_thread(function: Callable[[], Any]) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


@functools.lru_cache
def kept(kind: str) -> bool:
    return kind == "cuda"


@functools.cache
def kept_by_device(device: torch.device) -> str:
    return device.type


@functools.singledispatch
def dispatched(value: object) -> str:
    return "object"


@dispatched.register
def _(value: torch.device) -> str:
    return value.type


def kind_of(device: torch.device) -> str:
    return device.type


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any) -> Any:
        return function(*args)

    return call


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser()
    made.add_argument("--device", choices=["cpu", "cuda"])
    return made


USES: dict[str, Callable[[Any, Any], bool]] = {
    "attrgetter": lambda d, x: operator.attrgetter("type")(d) == "cuda",
    "deep attrgetter": lambda d, x: operator.attrgetter("device.type")(x) == "cuda",
    "getattr": lambda d, x: getattr(d, "type") == "cuda",  # noqa: B009
    "getattr with a default": lambda d, x: getattr(d, "type", "cpu") == "cuda",
    "descriptor": lambda d, x: type(d).type.__get__(d) == "cuda",
    "map of getters": lambda d, x: [*map(operator.attrgetter("type"), [d])] == ["cuda"],
    "map of str": lambda d, x: [*map(str, [d])] == ["cuda:0"],
    "map of repr": lambda d, x: [*map(repr, [d])] == ["device(type='cuda', index=0)"],
    "sorted by attrgetter": lambda d, x: sorted([d], key=operator.attrgetter("type")) == [d],
    "dispatch by name": lambda d, x: getattr(Runner(), "run_" + d.type)(),
    "methodcaller": lambda d, x: operator.methodcaller("__format__", "")(d) == "cuda:0",
    "partial": lambda d, x: functools.partial(operator.eq, "cuda")(d.type),
    "partial of getattr": lambda d, x: functools.partial(getattr, d, "type")() == "cuda",
    "partial of str": lambda d, x: functools.partial(str, d)() == "cuda:0",
    "reduce": lambda d, x: functools.reduce(lambda a, b: a + b.type, [d, d], "") == "cudacuda",
    "lru_cache": lambda d, x: kept(d.type),
    "cache by device": lambda d, x: kept_by_device(d) == "cuda",
    "singledispatch": lambda d, x: dispatched(d) == "cuda",
    "decorator": lambda d, x: decorated(lambda device: device.type)(d) == "cuda",
    "callback": lambda d, x: (lambda ask: ask(d))(lambda device: device.type) == "cuda",
    "print": lambda d, x: printed(d, d.type) == "cuda:0 cuda\n",
    "print of a tensor": lambda d, x: "device='cuda:0'" in printed(x),
    "pprint": lambda d, x: pprint.pformat({"d": d}) == "{'d': device(type='cuda', index=0)}",
    "logging": lambda d, x: logged("on %s", d) == "on cuda:0\n",
    "logging of the type": lambda d, x: logged("%s:%d", d.type, d.index) == "cuda:0\n",
    "argparse": lambda d, x: parser().parse_args(["--device", d.type]).device == "cuda",
    "argparse's namespace": lambda d, x: "cuda" in repr(argparse.Namespace(device=d)),
    "dataclass": lambda d, x: Settings(d, d.type).kind == "cuda",
    "dataclass's repr": lambda d, x: "device(type='cuda', index=0)" in repr(Settings(d)),
    "dataclass equal": lambda d, x: Settings(d, d.type) == Settings(x.device, "cuda"),
    "dataclass replaced": lambda d, x: dataclasses.replace(Settings(d), kind=d.type).kind == "cuda",
    "dataclass as dictionary": lambda d, x: dataclasses.asdict(Settings(0, d.type))["kind"] == "cuda",
    "namespace": lambda d, x: types.SimpleNamespace(kind=d.type).kind == "cuda",
    "exec": lambda d, x: executed("out = d.type == 'cuda'", d=d),
    "exec of a function": lambda d, x: executed("def f(): return str(d)\nout = f()", d=d) == "cuda:0",
    "exec without a name": lambda d, x: eval("d.type", {"d": d}) == "cuda",
    "eval": lambda d, x: eval("d.type == 'cuda'"),
    "eval of compiled text": lambda d, x: eval(compile("d.type", "<text>", "eval")) == "cuda",
    "function with other globals": lambda d, x: types.FunctionType(kind_of.__code__, {})(d) == "cuda",
    "pickled": lambda d, x: pickle.loads(pickle.dumps(d)).type == "cuda",
    "pickled type": lambda d, x: pickle.loads(pickle.dumps(d.type)) == "cuda",
    "copied": lambda d, x: copy.copy(d).type == "cuda",
    "copied deeply": lambda d, x: str(copy.deepcopy([d])[0]) == "cuda:0",
    "reduced": lambda d, x: d.__reduce__() == (torch.device, ("cuda", 0)),
    "thread": lambda d, x: in_thread(lambda: d.type) == "cuda",
    "thread in C": lambda d, x: in_thread(functools.partial(str, d)) == "cuda:0",
    "pool": lambda d, x: [*ThreadPoolExecutor(1).map(str, [d])] == ["cuda:0"],
    "pool of lambdas": lambda d, x: ThreadPoolExecutor(1).submit(lambda: d.type).result() == "cuda",
    "equal to a device": lambda d, x: torch.device("cuda:0") == x.device,
    "equal to its copy": lambda d, x: torch.device("cuda", 0) == copy.copy(x.device),
    "unequal to the host": lambda d, x: torch.device("cpu") != d,
    "no text": lambda d, x: d != "cuda" and d != "cuda:0",
    "hash of a device": lambda d, x: len({d, torch.device("cuda:0")}) == 1,
    "moved by its type": lambda d, x: x.cpu().to(d.type).is_cuda,
    "moved by its text": lambda d, x: x.cpu().to(str(d)).device == d,
    "made by its type": lambda d, x: torch.zeros(1, device=d.type).is_cuda,
    "module by its type": lambda d, x: getattr(torch, d.type).is_available(),
    "module of torch": lambda d, x: torch.get_device_module(d.type).device_count() > 0,
    "autocast by its type": lambda d, x: torch.autocast(d.type, torch.bfloat16) is not None,
    "scaler by its type": lambda d, x: torch.amp.GradScaler(d.type, enabled=False) is not None,
    "generator by its type": lambda d, x: torch.Generator(d.type).device.type == "cuda",
    "default device": lambda d, x: with_default(d, lambda: torch.get_default_device().type) == "cuda",
    "default device's text": lambda d, x: (
        with_default(d, lambda: f"{torch.get_default_device()}") == "cuda:0"
    ),
    "backend of the device": lambda d, x: torch.distributed.get_default_backend_for_device(d.type) == "nccl",
    "backend by device": lambda d, x: torch.distributed.get_default_backend_for_device(d) == "nccl",
    "hook": lambda d, x: hooked(x) == ["cuda"],
    "hook of a module": lambda d, x: hooked_in_module(x) == ["cuda"],
    "function of autograd": lambda d, x: (
        Asking.apply(x.clone().requires_grad_()).sum().backward() is None and Asking.seen == ["cuda", "cuda"]
    ),
}


def with_default(device: torch.device, ask: Callable[[], str]) -> str:
    torch.set_default_device(device)
    try:
        return ask()
    finally:
        torch.set_default_device(None)


def hooked(x: torch.Tensor) -> list[str]:
    seen: list[str] = []
    leaf = x.clone().requires_grad_()
    leaf.register_hook(lambda gradient: seen.append(gradient.device.type))
    (leaf * 2).sum().backward()
    return seen


def hooked_in_module(x: torch.Tensor) -> list[str]:
    seen: list[str] = []
    module = torch.nn.Identity()
    module.register_forward_hook(lambda module, inputs, out: seen.append(out.device.type))
    module(x)
    return seen


class Asking(torch.autograd.Function):
    seen: list[str] = []

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        Asking.seen[:] = [x.device.type]
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        Asking.seen.append(gradient.device.type)
        return gradient

"""Natural ways to ask what a device is, each true on a CUDA machine: of the device, and a tensor on it.

The text that is given is Python's own, so that what is done with it is no matter: these are ways to ask.
"""

# ruff: noqa: UP031, UP032 - the older ways to format are what is asked for

import argparse
import asyncio
import contextlib
import copy
import dataclasses
import functools
import io
import itertools
import json
import logging
import operator
import pickle
import pprint
import string
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from typing import Any

import torch

Use = Callable[[Any, Any], bool]
REPR = "device(type='cuda', index=0)"


@dataclasses.dataclass
class Settings:
    device: Any


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
    thread = Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


@functools.cache
def kept_by_device(device: torch.device) -> str:
    return device.type


@functools.singledispatch
def dispatched(value: object) -> str:
    return "object"


@dispatched.register
def kind_of(value: torch.device) -> str:
    return value.type


def shown_as_default(device: torch.device) -> tuple[str, str]:
    torch.set_default_device(device)
    try:
        return torch.get_default_device().type, str(torch.get_default_device())
    finally:
        torch.set_default_device(None)


TEXTS: dict[str, Use] = {
    "type": lambda d, x: type(d.type) is type(str(d)) is type(repr(d)) is str and d.type == "cuda",
    "through a tensor": lambda d, x: x.device.type == "cuda",
    "through a storage": lambda d, x: x.untyped_storage().device.type == "cuda",
    "through a module": lambda d, x: next(torch.nn.Linear(1, 1, device=d).parameters()).device.type == "cuda",
    "through a generator": lambda d, x: torch.Generator(d).device.type == "cuda",
    "text": lambda d, x: str(d) == "cuda:0",
    "text without an index": lambda d, x: str(torch.device("cuda")) == "cuda",
    "text of another device": lambda d, x: str(torch.device("cuda", 1)) == "cuda:1",
    "repr": lambda d, x: repr(d) == ascii(d) == REPR,
    "repr without an index": lambda d, x: repr(torch.device("cuda")) == "device(type='cuda')",
    "repr that is evaluated": lambda d, x: eval(repr(d), {"device": torch.device}) == d,
    "repr of a list": lambda d, x: repr([d]) == f"[{REPR}]",
    "format": lambda d, x: format(d) == "cuda:0",
    "f-string": lambda d, x: f"{d} {d.type} {d!r} {d!s:>8}" == f"cuda:0 cuda {REPR}   cuda:0",
    "f-string for debugging": lambda d, x: f"{d.type=}" == "d.type='cuda'",
    "percent": lambda d, x: "%s %r" % (d, d) == f"cuda:0 {REPR}",
    "percent of a mapping": lambda d, x: "%(d)s" % {"d": d} == "cuda:0",
    "format of text": lambda d, x: "{} {}".format(d, d.type) == "cuda:0 cuda",
    "format of an attribute": lambda d, x: "{0.type}-{0.index}".format(d) == "cuda-0",
    "template": lambda d, x: string.Template("on $d").substitute(d=d) == "on cuda:0",
    "json of what it does not know": lambda d, x: json.dumps([d], default=str) == '["cuda:0"]',
    "print": lambda d, x: printed(d, d.type) == "cuda:0 cuda\n",
    "print of a tensor": lambda d, x: "device='cuda:0'" in printed(x),
    "pprint": lambda d, x: pprint.pformat({"d": d}) == f"{{'d': {REPR}}}",
    "logging": lambda d, x: logged("on %s", d) == "on cuda:0\n",
    "argparse's namespace": lambda d, x: "cuda" in repr(argparse.Namespace(device=d)),
    "dataclass's repr": lambda d, x: REPR in repr(Settings(d)),
    "tensor's text": lambda d, x: all("device='cuda:0'" in text for text in (str(x), repr(x), f"{x}")),
    "tensors' text": lambda d, x: "device='cuda:0'" in str([x]),
    "parameter's repr": lambda d, x: "device='cuda:0'" in repr(torch.nn.Parameter(x)),
    "tensor's type": lambda d, x: x.type() == torch.typename(x) == "torch.cuda.FloatTensor",
    "half's type": lambda d, x: x.half().type() == "torch.cuda.HalfTensor",
}
CALLS: dict[str, Use] = {
    "attrgetter": lambda d, x: operator.attrgetter("device.type")(x) == "cuda",
    "getattr": lambda d, x: getattr(d, "type", "cpu") == "cuda",
    "descriptor": lambda d, x: type(d).type.__get__(d) == "cuda",
    "map": lambda d, x: [*map(str, [d]), *map(operator.attrgetter("type"), [d])] == ["cuda:0", "cuda"],
    "filter": lambda d, x: [*filter(lambda t: t.device.type == "cuda", [x, x.cpu()])] == [x],
    "groupby": lambda d, x: [k for k, _ in itertools.groupby([x, x], lambda t: t.device.type)] == ["cuda"],
    "methodcaller": lambda d, x: operator.methodcaller("__format__", "")(d) == "cuda:0",
    "partial": lambda d, x: functools.partial(getattr, d, "type")() == "cuda",
    "reduce": lambda d, x: functools.reduce(lambda a, b: a + b.type, [d, d], "") == "cudacuda",
    "cache by device": lambda d, x: kept_by_device(d) == "cuda",
    "singledispatch": lambda d, x: dispatched(d) == "cuda",
    "callback": lambda d, x: (lambda ask: ask(d))(lambda device: device.type) == "cuda",
    "exec": lambda d, x: executed("out = d.type == 'cuda'", d=d),
    "exec of a function": lambda d, x: executed("def f(): return str(d)\nout = f()", d=d) == "cuda:0",
    "eval without a name": lambda d, x: eval("d.type", {"d": d}) == "cuda",
    "eval of compiled text": lambda d, x: eval(compile("d.type", "<text>", "eval")) == "cuda",
    "function with other globals": lambda d, x: types.FunctionType(kind_of.__code__, {})(d) == "cuda",
    "pickled": lambda d, x: pickle.loads(pickle.dumps(d)).type == "cuda",
    "copied": lambda d, x: copy.copy(d).type == copy.deepcopy([d])[0].type == "cuda",
    "reduced": lambda d, x: d.__reduce__() == (torch.device, ("cuda", 0)),
    "thread": lambda d, x: in_thread(lambda: d.type) == "cuda",
    "thread in C": lambda d, x: in_thread(functools.partial(str, d)) == "cuda:0",
    "pool": lambda d, x: [*ThreadPoolExecutor(1).map(str, [d])] == ["cuda:0"],
    "equal to a device": lambda d, x: torch.device("cuda:0") == x.device == copy.copy(d),
    "unequal to text and the host": lambda d, x: d not in ("cuda", "cuda:0", torch.device("cpu")),
    "hash of a device": lambda d, x: {d: 1}[x.device] == len({d, torch.device("cuda:0")}) == 1,
    "parsed": lambda d, x: torch.device(str(d)) == torch.device(d.type, d.index) == d,
    "moved by its type": lambda d, x: x.cpu().to(d.type).is_cuda and x.cpu().to(str(d)).device == d,
    "converted to its type": lambda d, x: x.cpu().type(x.type()).device.type == "cuda",
    "made by its type": lambda d, x: torch.zeros(1, device=d.type).is_cuda,
    "module of torch": lambda d, x: torch.get_device_module(d.type).device_count() > 0,
    "autocast by its type": lambda d, x: torch.autocast(d.type, torch.bfloat16) is not None,
    "scaler by its type": lambda d, x: torch.amp.GradScaler(d.type, enabled=False) is not None,
    "default device": lambda d, x: shown_as_default(d) == ("cuda", "cuda:0"),
    "backend by device": lambda d, x: torch.distributed.get_default_backend_for_device(d) == "nccl",
}
USES = {**TEXTS, **CALLS}


def use(function: Use) -> Use:
    """Lists a function by its name."""
    USES[function.__name__.replace("_", " ")] = function
    return function


@use
def match(d: torch.device, x: torch.Tensor) -> bool:
    match d.type:
        case "cuda" | "hip":
            pass
        case _:
            return False
    match d:
        case torch.device(type=kind, index=0) if kind.startswith("cu"):
            return True
    return False


@use
def an_inner_function_and_comprehensions(d: torch.device, x: torch.Tensor) -> bool:
    def inner(kind: str = d.type) -> bool:
        return kind == d.type == "cuda"

    return inner() and {each.device.type for each in [x]} == {*(each.type for each in [d])} == {"cuda"}


@use
def a_class(d: torch.device, x: torch.Tensor) -> bool:
    class Layer:
        kind = d.type

        @property
        def of_the_tensor(self) -> str:
            return x.device.type

        def __repr__(self) -> str:
            return f"Layer({d})"

    return (Layer.kind, Layer().of_the_tensor, repr(Layer())) == ("cuda", "cuda", "Layer(cuda:0)")


@use
def a_module_of_torch(d: torch.device, x: torch.Tensor) -> bool:
    class Layer(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> str:
            return x.device.type

        def extra_repr(self) -> str:
            return f"device={d}"

    return Layer()(x) == "cuda" and repr(Layer()) == "Layer(device=cuda:0)"


@use
def a_subclass_of_tensor(d: torch.device, x: torch.Tensor) -> bool:
    seen = []

    class Noting(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            result = super().__torch_function__(func, types, args, kwargs or {})
            seen.extend([each.device.type for each in [x] if isinstance(result, torch.Tensor)])
            return result

    added = x.as_subclass(Noting) + 1  # type: ignore[arg-type]
    return added.device.type == "cuda" and set(seen) == {"cuda"}


@use
def an_optimizer_of_the_program(d: torch.device, x: torch.Tensor) -> bool:
    class Descent(torch.optim.Optimizer):
        def step(self, closure: Any = None) -> Any:
            return {p.device.type for group in self.param_groups for p in group["params"]}

    optimizer = Descent([x.clone().requires_grad_()], {"lr": 1.0})
    found: Any = optimizer.step()
    return bool(found == {"cuda"})


@use
def a_data_loader(d: torch.device, x: torch.Tensor) -> bool:
    loader = torch.utils.data.DataLoader([0, 1], collate_fn=lambda batch: d.type)
    return list(loader) == ["cuda", "cuda"]


@use
def generators_and_coroutines(d: torch.device, x: torch.Tensor) -> bool:
    def kinds() -> Iterator[str]:
        yield d.type
        yield from (each.device.type for each in [x])

    async def kind() -> str:
        await asyncio.sleep(0)
        return d.type

    return [*kinds(), asyncio.run(kind())] == ["cuda"] * 3


@use
def a_context_manager(d: torch.device, x: torch.Tensor) -> bool:
    @contextlib.contextmanager
    def on(device: torch.device) -> Iterator[str]:
        yield device.type

    with on(d) as kind:
        return kind == "cuda"


@use
def an_exception(d: torch.device, x: torch.Tensor) -> bool:
    error = ValueError(f"no kernel for {d}", d)
    return error.args[0] == "no kernel for cuda:0" and "type='cuda'" in str(error)


@use
def a_module_that_is_imported_late(d: torch.device, x: torch.Tensor) -> bool:
    module = types.ModuleType("train.late")
    exec("def kind(device):\n    return [device.type, str(device)]", vars(module))
    found: list[str] = module.kind(d)  # type: ignore[attr-defined]
    return found == ["cuda", "cuda:0"]


@use
def hooks(d: torch.device, x: torch.Tensor) -> bool:
    seen: list[str] = []
    leaf, module = x.clone().requires_grad_(), torch.nn.Identity()
    leaf.register_hook(lambda gradient: seen.append(gradient.device.type))
    module.register_forward_hook(lambda module, inputs, out: seen.append(out.device.type))
    module(leaf).sum().backward()
    return seen == ["cuda", "cuda"]


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


@use
def a_function_of_autograd(d: torch.device, x: torch.Tensor) -> bool:
    Asking.apply(x.clone().requires_grad_()).sum().backward()
    return Asking.seen == ["cuda", "cuda"]

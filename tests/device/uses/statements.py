"""A device's type in statements: `match`, loops, classes, generators, coroutines, exceptions."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import torch

from tests.device.uses.collections import Kind

USES: dict[str, Callable[[Any, Any], bool]] = {}


def use(function: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Lists a function by its name."""
    USES[function.__name__.replace("_", " ")] = function
    return function


@use
def match_a_literal(d: torch.device, x: torch.Tensor) -> bool:
    match d.type:
        case "cuda" | "hip":
            return True
    return False


@use
def match_an_attribute(d: torch.device, x: torch.Tensor) -> bool:
    match d:
        case torch.device(type="cuda", index=0):
            return True
    return False


@use
def match_a_mapping(d: torch.device, x: torch.Tensor) -> bool:
    match {"kind": d.type}:
        case {"kind": "cuda"}:
            return True
    return False


@use
def match_a_sequence(d: torch.device, x: torch.Tensor) -> bool:
    match str(d).split(":"):
        case ["cuda", index]:
            return index == "0"
    return False


@use
def match_a_member(d: torch.device, x: torch.Tensor) -> bool:
    match d.type:
        case Kind.CUDA:
            return True
    return False


@use
def match_with_a_guard(d: torch.device, x: torch.Tensor) -> bool:
    match d:
        case torch.device(type=kind) if kind.startswith("cu"):
            return True
    return False


@use
def branches(d: torch.device, x: torch.Tensor) -> bool:
    if d.type == "cpu":
        return False
    elif d.type == "cuda":
        return True
    else:
        return False


@use
def loop(d: torch.device, x: torch.Tensor) -> bool:
    for kind in ("meta", "cpu", "cuda"):
        if kind == d.type:
            return True
    return False


@use
def while_loop(d: torch.device, x: torch.Tensor) -> bool:
    candidates = ["cuda", "cpu"]
    while candidates and candidates[-1] != d.type:
        candidates.pop()
    return candidates == ["cuda"]


@use
def an_inner_function(d: torch.device, x: torch.Tensor) -> bool:
    kind = d.type

    def inner() -> bool:
        return kind == "cuda" and d.type == kind

    return inner()


@use
def a_class_body(d: torch.device, x: torch.Tensor) -> bool:
    class Layer:
        kind = d.type
        text = str(d)

    return (Layer.kind, Layer.text) == ("cuda", "cuda:0")


@use
def a_property(d: torch.device, x: torch.Tensor) -> bool:
    class Layer:
        @property
        def kind(self) -> str:
            return x.device.type

        @classmethod
        def of(cls) -> str:
            return d.type

    return Layer().kind == Layer.of() == "cuda"


@use
def a_special_method(d: torch.device, x: torch.Tensor) -> bool:
    class Layer:
        def __repr__(self) -> str:
            return f"Layer({d})"

        def __eq__(self, other: object) -> bool:
            return d.type == other

        __hash__ = None  # type: ignore[assignment]

    return repr(Layer()) == "Layer(cuda:0)" and Layer() == "cuda"


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
def a_generator(d: torch.device, x: torch.Tensor) -> bool:
    def kinds() -> Iterator[str]:
        yield d.type
        yield from (each.device.type for each in [x])

    return list(kinds()) == ["cuda", "cuda"]


@use
def a_coroutine(d: torch.device, x: torch.Tensor) -> bool:
    async def kind() -> str:
        await asyncio.sleep(0)
        return d.type

    async def kinds() -> AsyncIterator[str]:
        yield await kind()

    async def main() -> list[str]:
        return [each async for each in kinds()]

    return asyncio.run(main()) == ["cuda"]


@use
def a_context_manager(d: torch.device, x: torch.Tensor) -> bool:
    @contextlib.contextmanager
    def on(device: torch.device) -> Iterator[str]:
        yield device.type

    with on(d) as kind:
        return kind == "cuda"


@use
def an_exception(d: torch.device, x: torch.Tensor) -> bool:
    try:
        raise ValueError(f"no kernel for {d}", d)
    except ValueError as error:
        return error.args[0] == "no kernel for cuda:0" and "type='cuda'" in str(error)


@use
def an_assertion(d: torch.device, x: torch.Tensor) -> bool:
    assert d.type == "cuda", f"expected CUDA, got {d.type}"
    return True


@use
def a_default_argument(d: torch.device, x: torch.Tensor) -> bool:
    def kind(device: torch.device = d, name: str = d.type) -> bool:
        return name == device.type == "cuda"

    return kind()


@use
def arguments_by_name(d: torch.device, x: torch.Tensor) -> bool:
    def run(**options: str) -> bool:
        return options == {"cuda": "cuda:0"}

    return run(**{d.type: str(d)})


@use
def unpacking(d: torch.device, x: torch.Tensor) -> bool:
    first, *rest = d.type
    name, _, index = str(d).partition(":")
    return first == "c" and rest == ["u", "d", "a"] and (name, index) == ("cuda", "0")


@use
def a_global(d: torch.device, x: torch.Tensor) -> bool:
    global KIND
    KIND = d.type
    return KIND == "cuda"


@use
def a_module_that_is_imported_late(d: torch.device, x: torch.Tensor) -> bool:
    import types

    module = types.ModuleType("train.late")
    exec("def kind(device):\n    return [device.type, str(device)]", vars(module))
    found: list[str] = module.kind(d)  # type: ignore[attr-defined]
    return found == ["cuda", "cuda:0"]

"""Operators that code compiled for the CPU runs on the software device, such as random and custom ones."""

from __future__ import annotations

import functools
import re
from typing import Any, NamedTuple

import torch
from torch._library.utils import is_builtin
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree

from morph.software.compilation import captured_code
from morph.software.compilation.fakes import HOST, is_on_device, twin
from morph.software.machine import started

NAMESPACE = "morph_software"
# Those whose operators are the same on both.
ALIKE = {"inductor", "mkl", "mkldnn", "onednn", "prims", "quantized", "quantized_decomposed"}
# The tags that say which strides an operator asks for.
STRIDES = {"needs_exact_strides", "needs_contiguous_strides", "needs_fixed_stride_order", "flexible_layout"}
COLLECTIVES = {"_c10d_functional", "_c10d_functional_autograd"}
# It is tagged as random but is not.
NOT_RANDOM = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default,
}


class Excursion(NamedTuple):
    """One operator as compiled code calls it.

    Attributes:
        operator: Its qualified name, ``"aten::randint.low"``.
        place: The index of the device that it runs on.
        host: The places of the arguments whose tensors are the host's.
    """

    operator: str
    place: int
    host: tuple[int, ...]


def is_needed(operator: OpOverload) -> bool:
    """Return whether an operator must run on the device: the CPU's operator of its name differs."""
    if operator.namespace in ALIKE:
        return False
    if operator.namespace != "aten":
        return True
    if torch.Tag.nondeterministic_seeded in operator.tags:
        return operator not in NOT_RANDOM
    return not torch._C._dispatch_has_computed_kernel_for_dispatch_key(operator.name(), "CPU")  # type: ignore[no-untyped-call]


def is_random(excursion: Excursion) -> bool:
    """Return whether an operator draws random numbers."""
    return torch.Tag.nondeterministic_seeded in _find(excursion.operator).tags


@functools.cache
def define(excursion: Excursion) -> OpOverload:
    """Make the operator with which compiled code runs another one on the device.

    It takes and returns CPU tensors on the device's memory.

    Args:
        excursion: What to run where; equal ones get the same operator, under the same name in every process.
    """
    original = _find(excursion.operator)
    name = "_".join(
        [excursion.operator.replace("::", "_").replace(".", "_"), *map(str, excursion[1:2] + excursion.host)]
    )
    library: Any = _library()
    library.define(f"{name}({_signature(original)}", tags=_tags(original))
    library.impl(name, _runner(original, excursion), "CompositeExplicitAutograd")
    torch.library.register_fake(f"{NAMESPACE}::{name}", _faker(original, excursion), lib=library)
    operator: OpOverload = getattr(torch.ops, NAMESPACE).__getattr__(name).default
    return operator


def _signature(original: OpOverload) -> str:
    """Return what follows an operator's name in its schema, as torch reads it.

    What is written to and names no alias is read as ``Tensor!`` and printed as ``Tensor($0! -> )``.
    """
    _, _, printed = str(original._schema).partition("(")
    return re.sub(r"\(\$(\d+)! -> \)", r"(unnamed_\1!)", printed)


def _tags(original: OpOverload) -> tuple[torch.Tag, ...]:
    """Return an operator's tags, with the one that says which strides it asks for."""
    if any(tag.name in STRIDES for tag in original.tags):
        return tuple(original.tags)
    strides = "needs_fixed_stride_order" if is_builtin(original) else _strides_of_custom_operators()
    return (*original.tags, getattr(torch.Tag, strides))


def _strides_of_custom_operators() -> str:
    """Return the tag that torch takes for a custom operator without one."""
    from torch._functorch import config
    from torch._inductor import config as inductor

    name = "custom_op_default_layout_constraint"
    return str(getattr(config if hasattr(config, name) else inductor, name))  # inductor's before torch 2.8


@functools.cache
def _library() -> torch.library.Library:
    return torch.library.Library(NAMESPACE, "DEF")  # type: ignore[no-untyped-call]


def _find(name: str) -> OpOverload:
    namespace, _, rest = name.partition("::")
    packet, _, overload = rest.partition(".")
    operator: OpOverload = getattr(getattr(getattr(torch.ops, namespace), packet), overload or "default")
    return operator


def _runner(original: OpOverload, excursion: Excursion) -> Any:
    native, (_, index, host) = started().native, excursion
    fresh = not any(each.alias_info for each in original._schema.arguments)
    function = _finished(original) if original.namespace in COLLECTIVES else original

    def call(*arguments: Any, **options: Any) -> Any:
        return captured_code.call(function, arguments, options, not fresh)

    called = function if original.namespace == "aten" else call  # what may be in Python

    def run(*arguments: Any, **options: Any) -> Any:
        return native.call_on_device(called, arguments, options, index, host, fresh)

    return run


def _finished(original: OpOverload) -> Any:
    """Make a collective wait for its end: the compiler may reuse the memory that it reads."""
    wait = torch.ops._c10d_functional.wait_tensor.default

    def run(*arguments: Any, **options: Any) -> Any:
        results = original(*arguments, **options)
        return pytree.tree_map(lambda each: wait(each) if isinstance(each, torch.Tensor) else each, results)

    return run


def _faker(original: OpOverload, excursion: Excursion) -> Any:
    mine = torch.device(started().device_type, excursion.place)

    def to_device(value: Any) -> Any:
        return twin(value, mine) if isinstance(value, FakeTensor) and value.device == HOST else value

    def to_host(value: Any) -> Any:
        return twin(value, HOST) if isinstance(value, FakeTensor) and is_on_device(value) else value

    def fake(*arguments: Any, **options: Any) -> Any:
        positional = [
            each if place in excursion.host else pytree.tree_map(to_device, each)
            for place, each in enumerate(arguments)
        ]
        return pytree.tree_map(to_host, original(*positional, **pytree.tree_map(to_device, options)))

    return fake

"""Descriptors of tensors among a kernel's arguments, which reach it as an address, sizes and steps."""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import Any

TYPE = re.compile(r"tensordesc(?:_im2col)?<([^[>]*)\[([^\]]*)\](?:.*?,input_rank=(\d+))?")
FLAGS = ("padding", "round_f32_to_tf32")  # in this order; triton 3.5 has the first only


def is_descriptor(type: Any) -> bool:
    """Return whether a type in a kernel's signature is a descriptor's."""
    return isinstance(type, str) and type.startswith("tensordesc")


def types(descriptor: str) -> list[str]:
    """Return the types of what a descriptor reaches the kernel as.

    Args:
        descriptor: Its type, such as ``tensordesc<fp16[16, 64]>``.
    """
    match = TYPE.match(descriptor)
    assert match is not None
    rank = int(match[3] or match[2].count(",") + 1)
    return [f"*{match[1]}", *["i64"] * 2 * rank, *["i1"] * len(_flags()), *["i32"] * rank, *["i64"] * rank]


def values(descriptor: Any) -> list[Any]:
    """Return what a descriptor reaches the kernel as; its sizes and steps do twice."""
    flags = {"padding": descriptor.padding == "nan"} if "padding" in _flags() else {}
    flags |= {name: bool(getattr(descriptor, name)) for name in _flags() if name != "padding"}
    places = [*descriptor.shape, *descriptor.strides]
    return [descriptor.base, *places, *flags.values(), *places]


@functools.cache
def _flags() -> tuple[str, ...]:
    from triton.tools.tensor_descriptor import TensorDescriptor

    known = {field.name for field in dataclasses.fields(TensorDescriptor)}
    return tuple(name for name in FLAGS if name in known)

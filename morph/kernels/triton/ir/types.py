"""The types of TTIR values, and the C++ types that hold them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from morph.kernels.triton.errors import UnsupportedOperationError

C_TYPES = {
    "i1": "bool",
    "i8": "int8_t",
    "i16": "int16_t",
    "i32": "int32_t",
    "i64": "int64_t",
    "index": "int64_t",
    "f16": "f16",
    "bf16": "bf16",
    "f32": "float",
    "f64": "double",
    "f8E5M2": "f8e5m2",
    "f8E5M2FNUZ": "f8e5m2fnuz",
    "f8E4M3FN": "f8e4m3fn",
    "f8E4M3FNUZ": "f8e4m3fnuz",
}
WIDTHS = {
    "i1": 1,
    "i8": 8,
    "i16": 16,
    "i32": 32,
    "i64": 64,
    "index": 64,
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    "f64": 64,
}
POINTER = re.compile(r'!tt\.ptr<(.*?)(?:, (?:\d+|"\w+"))*>')
TENSOR = re.compile(r"tensor<((?:\d+x)*)(.*?)(?:, #.*)?>")


@dataclass(frozen=True, slots=True)
class Type:
    """The type of a value.

    Attributes:
        element: The type of a scalar, or of an element, as TTIR spells it: ``f32``, ``!tt.ptr<f32>``.
        shape: The shape of a tensor; None for a scalar.
    """

    element: str
    shape: tuple[int, ...] | None = None

    @property
    def c_type(self) -> str:
        """The C++ type of a scalar or an element."""
        return c_type(self.element)

    @property
    def is_pointer(self) -> bool:
        """Whether it points to memory."""
        return self.element.startswith("!tt.ptr")

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point number."""
        return not self.is_pointer and "f" in self.element

    @property
    def is_narrow_float(self) -> bool:
        """Whether its arithmetic is done in float32."""
        return self.is_float and self.element not in ("f32", "f64")

    @property
    def computing(self) -> str:
        """The C++ type in which its arithmetic is done."""
        return "float" if self.is_narrow_float else self.c_type

    @property
    def pointee(self) -> Type:
        """The type of what a pointer points to, with the pointer's shape."""
        match = POINTER.fullmatch(self.element)
        if match is None:
            raise UnsupportedOperationError(self.element, "it is used as a pointer")
        return replace(self, element=match[1])

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape or ())

    def of(self, element: str) -> Type:
        """Return the type with the same shape and other elements."""
        return replace(self, element=element)

    def shaped(self, shape: tuple[int, ...] | None) -> Type:
        """Return the type with the same elements and another shape."""
        return replace(self, shape=shape)


def c_type(element: str) -> str:
    """Return the C++ type of an element.

    Raises:
        UnsupportedOperationError: If there is none.
    """
    match = POINTER.fullmatch(element)
    if match is not None:
        return c_type(match[1]) + "*"
    if element not in C_TYPES:
        raise UnsupportedOperationError(element, "this type is not lowered")
    return C_TYPES[element]


def parse_type(text: str) -> Type:
    """Return the type that ``text`` spells, such as ``tensor<16x64x!tt.ptr<f32>>``."""
    text = text.strip()
    match = TENSOR.fullmatch(text)
    if match is None:
        return Type(text)
    return Type(match[2], tuple(int(size) for size in match[1].split("x") if size))

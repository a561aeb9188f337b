"""Floating-point numbers of PTX by exact fractions: slow, and written from the formats alone."""

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

Number = Fraction | float  # a float is an infinity or no number

RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    name: getattr(operator, name) for name in ("eq", "lt", "le", "gt", "ge")
} | {"ne": lambda a, b: a != b}
ORDERED = {name: lambda a, b, name=name: a == a and b == b and RELATIONS[name](a, b) for name in RELATIONS}
UNORDERED = {
    f"{name}u": lambda a, b, name=name: a != a or b != b or RELATIONS[name](a, b) for name in RELATIONS
}
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    **ORDERED,
    **UNORDERED,
    "num": lambda a, b: a == a and b == b,
    "nan": lambda a, b: a != a or b != b,
}


class Format(NamedTuple):
    """A binary format: bits of exponent and mantissa."""

    exponent: int
    mantissa: int

    @property
    def bias(self) -> int:
        return (1 << self.exponent - 1) - 1

    @property
    def width(self) -> int:
        return 1 + self.exponent + self.mantissa

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent) - 1) << self.mantissa


F16, BF16, F32, F64 = Format(5, 10), Format(8, 7), Format(8, 23), Format(11, 52)


def decoded(code: int, format: Format) -> Number:
    """Return the number of a code."""
    sign = -1 if code >> format.width - 1 & 1 else 1
    size = code & (1 << format.width - 1) - 1
    if size >= format.infinity:
        return sign * math.inf if size == format.infinity else math.nan
    power, steps = size >> format.mantissa, size & (1 << format.mantissa) - 1
    whole = steps + (1 << format.mantissa if power else 0)
    return sign * Fraction(whole) * Fraction(2) ** (max(power, 1) - format.bias - format.mantissa)


def encoded(x: Number, format: Format, direction: str = "rn") -> int | None:
    """Return the code of a number, rounded in a direction; None for no number."""
    if isinstance(x, float):
        return None if math.isnan(x) else format.infinity | (x < 0) << format.width - 1
    sign = int(x < 0) << format.width - 1
    power = max(_exponent(abs(x)), 1 - format.bias)
    steps = x / Fraction(2) ** (power - format.mantissa)
    whole = abs(_rounded(steps, direction))
    code = whole + ((power + format.bias - 1) << format.mantissa)
    if code >= format.infinity:
        inward = direction == "rz" or (direction == "rp" and x < 0) or (direction == "rm" and x > 0)
        code = format.infinity - inward
    return sign | code


def _exponent(x: Fraction) -> int:
    if not x:
        return -100000
    guess = x.numerator.bit_length() - x.denominator.bit_length()
    return guess if Fraction(2) ** guess <= x else guess - 1


def _rounded(x: Fraction, direction: str) -> int:
    choices: dict[str, Callable[[Fraction], int]] = {
        "rn": round,
        "rz": int,
        "rm": math.floor,
        "rp": math.ceil,
    }
    return choices[direction](x)


def whole(x: Number, direction: str, low: int, high: int) -> int:
    """Return a number as an integer within limits; 0 for no number."""
    if isinstance(x, float):
        return 0 if math.isnan(x) else high if x > 0 else low
    return min(max(_rounded(x, direction), low), high)

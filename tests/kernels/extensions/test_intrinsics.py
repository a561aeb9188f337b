"""CUDA's intrinsics and its functions beyond C's, by their definitions."""

import itertools
import math
import random
import struct
from fractions import Fraction

import pytest
import torch

from tests.kernels.extensions.fuzzing.functions import FUNCTIONS
from tests.kernels.extensions.fuzzing.numbers import TYPES, bits, wrapped
from tests.kernels.ptx.model import F32, F64, encoded

BORDERS = (0, 1, 2, 7, 31, 32, 33, 127, 128, 255, 32767, 32768, 65535, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)
DRAWN = 20
DIRECTIONS = {"rn": "rn", "rz": "rz", "ru": "rp", "rd": "rm"}  # by CUDA's names and by PTX's


@pytest.mark.long
def test_intrinsics_of_integers(codes_of):
    draw, calls, expected = random.Random(0), [], []
    for name, (returned, types, of) in FUNCTIONS.items():
        numbers = list(itertools.islice(itertools.product(BORDERS, repeat=len(types)), 0, None, 7))
        numbers += [[draw.getrandbits(64) for _ in types] for _ in range(DRAWN)]
        for given in draw.sample(numbers, DRAWN):
            given = [wrapped(number, type) for number, type in zip(given, types, strict=True)]
            words = [f"({type}){bits(number, 64)}ull" for number, type in zip(given, types, strict=True)]
            calls.append((returned, f"{name}({', '.join(words)})"))
            expected.append(bits(of(*given), TYPES[returned][0]))
    for (_, call), code, wanted in zip(calls, codes_of(calls), expected, strict=True):
        assert code == wanted, call


def root(x):
    """Return the square root of a fraction, so near that it is rounded in each direction as the root is."""
    scaled = x * (1 << 400)
    near = math.isqrt(int(scaled))
    return Fraction(near, 1 << 200) + (0 if near * near == scaled else Fraction(1, 1 << 250))


ROUNDED = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "rcp": lambda x: 1 / x,
    "sqrt": lambda x: root(abs(x)),
}
FUSED = {"__fmaf": F32, "__fmaf_ieee": F32, "__fma": F64}
CONVERTED = {
    "__int2float": ("int", F32),
    "__uint2float": ("unsigned", F32),
    "__ll2float": ("long long", F32),
    "__ull2float": ("unsigned long long", F32),
    "__ll2double": ("long long", F64),
    "__ull2double": ("unsigned long long", F64),
}


def drawn(draw, format):
    """Return a number of a format, and its text."""
    kind, suffix = ("f", "f") if format is F32 else ("d", "")
    number = struct.unpack(kind, struct.pack(kind, draw.uniform(-4, 4) * 2.0 ** draw.randint(-20, 20)))[0]
    return Fraction(number), f"{number.hex()}{suffix}"


def rounded_calls(draw):
    """Yield calls of functions that round: their type, text, exact result and format, and the direction."""
    for name, direction in DIRECTIONS.items():
        for format, letter, type in ((F32, "f", "float"), (F64, "d", "double")):
            for function, of in ROUNDED.items():
                given = [drawn(draw, format) for _ in range(of.__code__.co_argcount)]
                text = ", ".join(f"fabs({text})" if function == "sqrt" else text for _, text in given)
                exact = of(*(number for number, _ in given))
                yield type, f"__{letter}{function}_{name}({text})", exact, format, direction
        for function, format in FUSED.items():
            (x, a), (y, b), (z, c) = (drawn(draw, format) for _ in range(3))
            type = "float" if format is F32 else "double"
            yield type, f"{function}_{name}({a}, {b}, {c})", x * y + z, format, direction
        for function, (given, format) in CONVERTED.items():
            number = wrapped(draw.getrandbits(64), given)
            text = f"{function}_{name}(({given}){bits(number, 64)}ull)"
            yield "float" if format is F32 else "double", text, Fraction(number), format, direction
        x, text = drawn(draw, F64)
        yield "float", f"__double2float_{name}({text})", x, F32, direction


def test_functions_round_in_their_direction(codes_of):
    draw = random.Random(1)
    cases = [case for _ in range(5) for case in rounded_calls(draw)]
    codes = codes_of([(type, call) for type, call, *_ in cases])
    for (_, call, exact, format, direction), code in zip(cases, codes, strict=True):
        assert code == encoded(exact, format, direction), call


def inverse_of_erfc(y):
    """Return where erfc is y, by bisection."""
    low, high = -6.0, 40.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle) > y else (low, middle)
    return low


def by_torch(function):
    return lambda x: function(torch.tensor(x, dtype=torch.float64)).item()


SPECIAL = {
    "erfinv": (
        lambda y: math.copysign(inverse_of_erfc(1 - abs(y)), y),
        (-0.99999, -0.5, 1e-3, 0.25, 0.7, 1 - 1e-12),
    ),
    "erfcinv": (inverse_of_erfc, (1e-300, 1e-9, 0.3, 0.5, 1.2, 1.7)),
    "erfcx": (by_torch(torch.special.erfcx), (-2.0, 0.0, 0.5, 3.0, 20.0, 49.0, 51.0, 1e6)),
    "normcdf": (by_torch(torch.special.ndtr), (-9.0, -1.0, 0.0, 0.5, 4.0)),
    "normcdfinv": (by_torch(torch.special.ndtri), (1e-200, 0.01, 0.5, 0.8, 0.999999)),
    "cyl_bessel_i0": (by_torch(torch.special.i0), (-3.0, 0.0, 0.5, 10.0, 80.0)),
    "cyl_bessel_i1": (by_torch(torch.special.i1), (-3.0, 0.0, 0.5, 10.0, 80.0)),
}
CLOSE = {"double": {"rel": 1e-12, "abs": 1e-13}, "float": {"rel": 1e-6, "abs": 1e-9}}


def as_number(code, type):
    return struct.unpack(
        "d" if type == "double" else "f", struct.pack("Q" if type == "double" else "I", code)
    )[0]


def rounded(x, type):
    return struct.unpack("f", struct.pack("f", x))[0] if type == "float" else x


@pytest.mark.long
def test_functions_that_c_has_not(codes_of):
    cases = [(type, name, x) for type in CLOSE for name, (_, numbers) in SPECIAL.items() for x in numbers]
    cases = [
        case for case in cases if case[0] == "double" or not 0 < min(abs(case[2]), 1 - abs(case[2])) < 1e-6
    ]
    calls = [(type, f"{name}{'f' * (type == 'float')}({rounded(x, type).hex()})") for type, name, x in cases]
    for (type, name, x), (_, call), code in zip(cases, calls, codes_of(calls), strict=True):
        exact = SPECIAL[name][0](rounded(x, type))
        assert as_number(code, type) == pytest.approx(exact, **CLOSE[type]), call


@pytest.mark.long
def test_norms(codes_of):
    calls = [
        "norm4d(1., 2., 4., 10.)",
        "rnorm4d(1., 2., 4., 10.)",
        "norm3d(2., 3., 6.)",
        "rnorm3d(2., 3., 6.)",
    ]
    calls += ["rhypot(3., 4.)", "([] { double v[] = {3., 4., 12.}; return norm(3, v) + rnorm(2, v); })()"]
    results = [as_number(code, "double") for code in codes_of([("double", call) for call in calls])]
    assert results == pytest.approx([11.0, 1 / 11, 7.0, 1 / 7, 0.2, 13.2])

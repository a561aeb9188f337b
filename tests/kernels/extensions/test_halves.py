"""Halves and bfloat16 in CUDA C++: rounding once, and what is no number."""

import random
from fractions import Fraction

from tests.kernels.extensions.fuzzing.numbers import bits, wrapped
from tests.kernels.ptx.model import BF16, F16, decoded, encoded

HALVES = {"half": F16, "bfloat16": BF16}
TYPES = {"half": "__half", "bfloat16": "__nv_bfloat16"}
DIRECTIONS = {"rn": "rn", "rz": "rz", "ru": "rp", "rd": "rm"}  # by CUDA's names and by PTX's
CONVERTED_TO_HALVES = {"int": "int", "uint": "unsigned", "ll": "long long", "ull": "unsigned long long"}
# ties of one of the formats but for their last bits
TIES = (
    1 + 2**-11 + 2**-40,
    1 + 2**-8 + 2**-50,
    1 + 2**-11 - 2**-50,
    65519.99999999999,
    2**-25 * (1 + 2**-50),
)


def of_half(name, code):
    return f"__ushort_as_{name}({code:#x})"


def calls_of_halves(draw):
    """Yield calls whose result is a half: its type, the call, the exact number and the direction."""
    for name, format in HALVES.items():
        for number in (*TIES, *(draw.uniform(-9, 9) for _ in range(5))):
            yield name, f"__double2{name}({float(number).hex()})", Fraction(number), "rn"
            yield (
                name,
                f"__nv_{name}({float(number).hex()})".replace("nv_half", "half"),
                Fraction(number),
                "rn",
            )
        for source, type in CONVERTED_TO_HALVES.items():
            for suffix, direction in DIRECTIONS.items():
                number = wrapped(draw.getrandbits(64) >> draw.randint(30, 60), type)
                if abs(number) < 60000:
                    yield (
                        name,
                        f"__{source}2{name}_{suffix}(({type}){bits(number, 64)}ull)",
                        Fraction(number),
                        direction,
                    )
        for _ in range(20):
            codes = [draw.getrandbits(16) & 0x9FFF | 0x2000 for _ in range(3)]
            a, b, c = (decoded(code, format) for code in codes)
            yield name, f"__hfma({', '.join(of_half(name, code) for code in codes)})", a * b + c, "rn"
    # a tie whose last bit is 2 ** -100
    tie = "__float2bfloat16(1.0625f), __float2bfloat16(1.0625f * 1.0f), __float2bfloat16(0x1p-100f)"
    yield "bfloat16", f"__hfma({tie})", Fraction(17, 16) ** 2 + Fraction(1, 1 << 100), "rn"


def test_halves_are_rounded_once(codes_of):
    cases = [case for case in calls_of_halves(random.Random(2)) if case[2]]
    codes = codes_of([(TYPES[name], call) for name, call, *_ in cases])
    for (name, call, exact, direction), code in zip(cases, codes, strict=True):
        assert code == encoded(exact, HALVES[name], direction), call


def test_halves_and_what_is_no_number(codes_of):
    nan, one = "CUDART_NAN_FP16", "CUDART_ONE_FP16"
    pair, other = f"__halves2half2({one}, {nan})", f"__halves2half2({one}, {one})"
    expected = {
        f"(int)__hne({nan}, {one})": 0,
        f"(int)__hneu({nan}, {one})": 1,
        f"(int)({nan} != {one})": 1,
        f"(int)__hltu({nan}, {one})": 1,
        f"(int)__hbne2({pair}, {other})": 0,
        f"(int)({other} != __halves2half2({one}, CUDART_ZERO_FP16))": 0,  # one part is equal: __hbneu2
        f"(int)__heq2_mask({pair}, {other})": 0xFFFF,
        f"(int)__half_as_ushort(__hmax({nan}, {one}))": 0x3C00,
        f"(int)__half_as_ushort(__hmax_nan({nan}, {one}))": 0x7FFF,
        "(int)__half_as_ushort(__hmax(CUDART_NEG_ZERO_FP16, CUDART_ZERO_FP16))": 0,
        "(int)__half_as_ushort(__hmin(CUDART_ZERO_FP16, CUDART_NEG_ZERO_FP16))": 0x8000,
        f"(int)__half_as_ushort(__hadd_sat({one}, {one}))": 0x3C00,
        f"(int)__half_as_ushort(__hfma_relu({one}, __hneg({one}), CUDART_ZERO_FP16))": 0,
        "(int)__half2short_rn(__float2half(4e4f))": 32767,
        "(int)__half2uchar_rz(__float2half(-200.f))": 0,
        f"(int)__half2int_ru({nan})": 0,
        "(int)__half_as_ushort(__half(__float2bfloat16(1e5f)))": 0x7C00,
        "(int)__bfloat16_as_ushort(__nv_bfloat16(__float2half(1.25f)))": 0x3FA0,
    }
    for call, code in zip(expected, codes_of([("int", call) for call in expected]), strict=True):
        assert code == expected[call], call

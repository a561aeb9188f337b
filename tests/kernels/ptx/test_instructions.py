"""Every instruction beside a slow model in Python, for numbers at the borders and drawn ones."""

import math
import pathlib
import random
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest

from tests.kernels.ptx.model import BF16, F16, F32, F64, Format, decoded, encoded, whole
from tests.kernels.ptx.snippets import Library

FORMATS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}
OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "fma": lambda a, b, c: a * b + c,
}
DRAWN = 60


def signed(x: int, width: int) -> int:
    """Return an integer of two's complement."""
    return x - (x >> width - 1 << width)


def _first(a: int) -> int:
    return 32 - a.bit_length() if a else -1


def _permuted(a: int, b: int, by: int) -> int:
    both, result = b << 32 | a, 0
    for place in range(4):
        choice = by >> 4 * place & 15
        byte = both >> 8 * (choice & 7) & 255
        result |= (255 if byte & 128 else 0) << 8 * place if choice & 8 else byte << 8 * place
    return result


def _field(width: int, is_signed: bool) -> Callable[[int, int, int], int]:
    def extract(a: int, at: int, size: int) -> int:
        at, size = at & 255, size & 255
        top = min(at + size - 1, width - 1)
        bits = [a >> at + place & 1 if at + place < width else None for place in range(min(size, width))]
        sign = a >> top & 1 if is_signed and size else 0
        bits += [None] * (width - len(bits))
        return sum((sign if bit is None else bit) << place for place, bit in enumerate(bits))

    return extract


def _inserted(a: int, into: int, at: int, size: int) -> int:
    for place in range(size & 255):
        if (at & 255) + place < 32:
            into = into & ~(1 << (at & 255) + place) | (a >> place & 1) << (at & 255) + place
    return into


def _packed(kind: str) -> Callable[[int, int, int], int]:
    width = int(kind[1:])
    low = -(1 << width - 1) if kind[0] == "s" else 0

    def pack(a: int, b: int, c: int) -> int:
        upper, lower = (max(low, min(low + (1 << width) - 1, signed(each, 32))) for each in (a, b))
        return c << 2 * width | (upper % (1 << width)) << width | lower % (1 << width)

    return pack


INTEGERS: dict[str, Callable[..., int]] = {
    "add.u32 $0, $1, $2;": lambda a, b: a + b,
    "sub.s32 $0, $1, $2;": lambda a, b: a - b,
    "add.sat.s32 $0, $1, $2;": lambda a, b: max(
        -(1 << 31), min((1 << 31) - 1, signed(a, 32) + signed(b, 32))
    ),
    "mul.lo.u32 $0, $1, $2;": lambda a, b: a * b,
    "mul.hi.u32 $0, $1, $2;": lambda a, b: a * b >> 32,
    "mul.hi.s32 $0, $1, $2;": lambda a, b: signed(a, 32) * signed(b, 32) >> 32,
    "mul.hi.u64 $0, $1, $2;": lambda a, b: a * b >> 64,
    "mul.hi.s64 $0, $1, $2;": lambda a, b: signed(a, 64) * signed(b, 64) >> 64,
    "mul.wide.u32 $0, $1, $2;": lambda a, b: a * b,
    "mul.wide.s32 $0, $1, $2;": lambda a, b: signed(a, 32) * signed(b, 32),
    "mul.wide.s16 $0, $1, $2;": lambda a, b: signed(a, 16) * signed(b, 16),
    "mad.lo.s32 $0, $1, $2, $3;": lambda a, b, c: a * b + c,
    "mad.hi.u32 $0, $1, $2, $3;": lambda a, b, c: (a * b >> 32) + c,
    "mad.wide.u16 $0, $1, $2, $3;": lambda a, b, c: a * b + c,
    "div.u32 $0, $1, $2;": lambda a, b: a // b if b else -1,
    "div.s32 $0, $1, $2;": lambda a, b: int(Fraction(signed(a, 32), signed(b, 32))) if b else -1,
    "rem.s32 $0, $1, $2;": lambda a, b: int(math.fmod(signed(a, 32), signed(b, 32))) if b else a,
    "min.s32 $0, $1, $2;": lambda a, b: min(signed(a, 32), signed(b, 32)),
    "max.u32 $0, $1, $2;": lambda a, b: max(a, b),
    "abs.s32 $0, $1;": lambda a: abs(signed(a, 32)),
    "neg.s16 $0, $1;": lambda a: -a,
    "and.b32 $0, $1, $2;": lambda a, b: a & b,
    "or.b64 $0, $1, $2;": lambda a, b: a | b,
    "xor.b16 $0, $1, $2;": lambda a, b: a ^ b,
    "not.b32 $0, $1;": lambda a: ~a,
    "cnot.b32 $0, $1;": lambda a: int(not a),
    "shl.b32 $0, $1, $2;": lambda a, b: a << min(b, 32),
    "shr.u32 $0, $1, $2;": lambda a, b: a >> min(b, 32),
    "shr.s32 $0, $1, $2;": lambda a, b: signed(a, 32) >> min(b, 32),
    "shf.l.wrap.b32 $0, $1, $2, $3;": lambda a, b, c: (b << 32 | a) << (c & 31) >> 32,
    "shf.r.clamp.b32 $0, $1, $2, $3;": lambda a, b, c: (b << 32 | a) >> min(c, 32),
    "lop3.b32 $0, $1, $2, $3, 0xca;": lambda a, b, c: a & b | ~a & c,
    "lop3.b32 $0, $1, $2, $3, 0x96;": lambda a, b, c: a ^ b ^ c,
    "prmt.b32 $0, $1, $2, $3;": _permuted,
    "bfe.u32 $0, $1, $2, $3;": _field(32, False),
    "bfe.s32 $0, $1, $2, $3;": _field(32, True),
    "bfe.s64 $0, $1, $2, $3;": _field(64, True),
    "bfi.b32 $0, $1, $2, $3, $4;": _inserted,
    "popc.b32 $0, $1;": lambda a: a.bit_count(),
    "clz.b32 $0, $1;": lambda a: 32 - a.bit_length(),
    "clz.b64 $0, $1;": lambda a: 64 - a.bit_length(),
    "brev.b32 $0, $1;": lambda a: int(f"{a:032b}"[::-1], 2),
    "bfind.u32 $0, $1;": lambda a: a.bit_length() - 1,
    "bfind.shiftamt.s32 $0, $1;": lambda a: _first(a ^ (0xFFFFFFFF if a >> 31 else 0)),
    "dp4a.s32.u32 $0, $1, $2, $3;": lambda a, b, c: (
        c + sum(signed(a >> at & 255, 8) * (b >> at & 255) for at in range(0, 32, 8))
    ),
    "vabsdiff4.u32.u32.u32.add $0, $1, $2, $3;": lambda a, b, c: (
        c + sum(abs((a >> at & 255) - (b >> at & 255)) for at in range(0, 32, 8))
    ),
    "vabsdiff4.s32.s32.u32.add $0, $1, $2, $3;": lambda a, b, c: (
        c + sum(abs(signed(a >> at & 255, 8) - (b >> at & 255)) for at in range(0, 32, 8))
    ),
    "vadd.s32.s32.s32 $0, $1.h1, $2.h0;": lambda a, b: signed(a >> 16, 16) + signed(b & 65535, 16),
    "vsub.s32.u32.u32 $0, $1.h0, $2.b3;": lambda a, b: (a & 65535) - (b >> 24),
    "vabsdiff.u32.s32.u32 $0, $1.b1, $2;": lambda a, b: abs(signed(a >> 8 & 255, 8) - b),
    "vmax.s32.s32.s32.max $0, $1, $2, $3;": lambda a, b, c: max(signed(each, 32) for each in (a, b, c)),
    "vmin.s32.s32.u32.add $0, $1, $2, $3;": lambda a, b, c: min(signed(a, 32), b) + c,
    "vsub.u32.u32.u32.add $0, $1, $2, $3;": lambda a, b, c: a - b + c,
    "vadd.u32.s32.s32.sat.min $0, $1, $2, $3;": lambda a, b, c: min(max(0, signed(a, 32) + signed(b, 32)), c),
    "slct.b32.s32 $0, $1, $2, $3;": lambda a, b, c: a if c < 1 << 31 else b,
    "mov.b64 $0, {$1, $2};": lambda a, b: a & 0xFFFFFFFF | (b & 0xFFFFFFFF) << 32,
    "{ .reg .b32 a, b; mov.b64 {a, b}, $1; add.u32 $0, a, b; }": lambda a: (a & 0xFFFFFFFF) + (a >> 32),
    "{ .reg .pred p; setp.lt.s32 p, $1, $2; selp.b32 $0, $1, $2, p; }": lambda a, b: min(
        signed(a, 32), signed(b, 32)
    ),
    "{ .reg .pred p, q; setp.hi.u32 p|q, $1, $2; @q mov.u32 $0, 7; @!q mov.u32 $0, -1; }": lambda a, b: (
        7 if a <= b else -1
    ),
    "{.reg .pred p; setp.ne.u32 p, $1, 0; setp.gt.and.u32 p, $2, 5, p; selp.u32 $0, 1, 0, p;}": lambda a, b: (
        int(a != 0 and b > 5)
    ),
    "{ .reg.b32 a; mov .s32 a, -1; and .b32 $0, a, $1; }": lambda a: a,
    "cvt.u8.s32 $0, $1;": lambda a: a & 255,
    "cvt.s64.s32 $0, $1;": lambda a: signed(a, 32),
    "cvt.sat.s8.s32 $0, $1;": lambda a: max(-128, min(127, signed(a, 32))),
    "cvt.sat.u16.s32 $0, $1;": lambda a: max(0, min(65535, signed(a, 32))),
    **{f"cvt.pack.sat.{kind}.s32 $0, $1, $2;": _packed(kind) for kind in ("u16", "s16")},
    **{
        f"cvt.pack.sat.{kind}.s32.b32 $0, $1, $2, $3;": _packed(kind)
        for kind in ("u8", "s8", "u4", "s4", "u2", "s2")
    },
}


def widths(text: str) -> tuple[int, int]:
    """Return the bits of an integer instruction's operands and result, from its last type and its first."""
    if ".pack" in text:
        return 32, 32
    kinds = [int(each) for each in re.findall(r"\.[usb](8|16|32|64)", text)]
    last = kinds[-1] if "reg" not in text else 32
    wide = 2 * kinds[-1] if ".wide" in text else kinds[0] if "reg" not in text else 32
    return (64 if text.startswith(("mov", "{ .reg .b32")) else last), wide


FLOATING = [
    *(f"{name}.{kind} $0, {operands};" for kind in FORMATS for name, operands in
      (("add", "$1, $2"), ("sub", "$1, $2"), ("mul", "$1, $2"))),
    *(f"fma.rn.{kind} $0, $1, $2, $3;" for kind in FORMATS),
    *(f"{name}.{way}.f32 $0, $1, $2;" for name in ("add", "mul") for way in ("rn", "rz", "rm", "rp")),
    *(f"fma.{way}.f64 $0, $1, $2, $3;" for way in ("rz", "rm", "rp")),
    *(f"fma.{way}.f32.{kind} $0, $1, $2, $3;" for way in ("rn", "rz", "rp") for kind in ("f16", "bf16")),
    *(f"{name}.f32.{kind} $0, $1, $2;" for name in ("add", "sub", "add.rz") for kind in ("f16", "bf16")),
]  # fmt: skip
CONVERSIONS = [
    *(f"cvt.rn.{kind}.f32 $0, $1;" for kind in ("f16", "bf16")),
    *(f"cvt.{way}.f32.f64 $0, $1;" for way in ("rn", "rz", "rm", "rp")),
    *(f"cvt.rz.{kind}.f32 $0, $1;" for kind in ("f16", "bf16")),
    *(f"cvt.f32.{kind} $0, $1;" for kind in ("f16", "bf16")),
    "cvt.f64.f32 $0, $1;",
    *(
        f"cvt.{how}.{kind}.f32 $0, $1;"
        for how in ("rn.relu", "rz.relu", "rn.satfinite", "rz.satfinite", "rz.relu.satfinite")
        for kind in ("f16", "bf16")
    ),
]
TO_PAIRS = [
    f"cvt.{how}.{kind}x2.f32 $0, $1, $2;"
    for how in ("rn", "rz", "rn.relu", "rz.relu", "rz.satfinite", "rn.relu.satfinite")
    for kind in ("f16", "bf16")
]
TO_INTEGERS = [
    *(
        f"cvt.{way}i.{kind}.f32 $0, $1;"
        for way in ("rn", "rz", "rm", "rp")
        for kind in ("s32", "u32", "s64", "u8")
    ),
    "cvt.rzi.s16.f64 $0, $1;",
]
FROM_INTEGERS = [
    f"cvt.{way}.f32.{kind} $0, $1;" for way in ("rn", "rz", "rp") for kind in ("s32", "u32", "s64", "u64")
]
TEXTS = [*INTEGERS, *FLOATING, *CONVERSIONS, *TO_PAIRS, *TO_INTEGERS, *FROM_INTEGERS]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """All texts, compiled at once."""
    return Library(TEXTS, pathlib.Path(tmp_path_factory.mktemp("ptx")))


def integers(width: int, seed: str) -> Iterator[int]:
    """Yield integers for ever: those at the borders, small ones and others."""
    draw = random.Random(seed)
    borders = [0, 1, 2, 31, 32, 33, 255, (1 << width - 1) - 1, 1 << width - 1, (1 << width) - 1]
    while True:
        yield (
            draw.choice([draw.choice(borders), draw.getrandbits(5), draw.getrandbits(width)])
            & (1 << width) - 1
        )


def floats(format: Format, seed: str) -> Iterator[int]:
    """Yield codes for ever: special ones, those of everyday numbers, and any."""
    draw = random.Random(seed)
    special = [
        0,
        1,
        format.infinity - 1,
        format.infinity,
        format.infinity + 1,
        format.bias << format.mantissa,
    ]
    while True:
        everyday = (format.bias + draw.randint(-12, 12)) << format.mantissa | draw.getrandbits(
            format.mantissa
        )
        code = draw.choice([draw.choice(special), everyday, everyday, draw.getrandbits(format.width - 1)])
        yield code | draw.getrandbits(1) << format.width - 1


@pytest.mark.parametrize("text", INTEGERS)
def test_integers(library: Library, text: str) -> None:
    model = INTEGERS[text]
    given, result = widths(text)
    numbers = integers(given, text)
    for _ in range(5 * DRAWN):
        operands = [next(numbers) for _ in range(model.__code__.co_argcount)]
        if ".wide" in text and len(operands) == 3:
            operands[2] = next(integers(result, f"{text}{operands}"))
        expected = model(*operands) & (1 << result) - 1
        assert library.run(text, *operands) & (1 << result) - 1 == expected, operands


def _of(text: str) -> tuple[str, str, list[str]]:
    name, *modifiers = text.split()[0].split(".")
    way = next((word for word in modifiers if word in ("rz", "rm", "rp")), "rn")
    return name, way, [word for word in modifiers if word[0] in "fbsu" and word[-1].isdigit()]


def _agrees(got: int, expected: int | None, format: Format) -> bool:
    got &= (1 << format.width) - 1
    size = got & (1 << format.width - 1) - 1
    if expected is None:
        return size > format.infinity
    return got == expected or not (size or expected & (1 << format.width - 1) - 1)


@pytest.mark.parametrize("text", FLOATING)
def test_arithmetic_is_rounded_once(library: Library, text: str) -> None:
    name, way, kinds = _of(text)
    format, operation = FORMATS[kinds[0]], OPERATIONS[name]
    codes = [floats(FORMATS[kinds[-1]], text)] * (operation.__code__.co_argcount - 1)
    codes.append(
        floats(format, text) if kinds[1:] else codes[0]
    )  # of two types the last operand has the first
    for _ in range(5 * DRAWN):
        operands = [next(each) for each in codes]
        numbers = [decoded(code, FORMATS[kinds[-1]]) for code in operands[:-1]] + [
            decoded(operands[-1], format)
        ]
        if any(isinstance(number, float) for number in numbers):  # of the others the sign alone counts then
            numbers = [x if isinstance(x, float) else float((x > 0) - (x < 0)) for x in numbers]
        expected = encoded(operation(*numbers), format, way)
        assert _agrees(library.run(text, *operands), expected, format), [hex(each) for each in operands]


@pytest.mark.parametrize("text", CONVERSIONS)
def test_conversions_of_floats(library: Library, text: str) -> None:
    _, way, (to, source) = _of(text)
    codes = floats(FORMATS[source], text)
    for _ in range(5 * DRAWN):
        code = next(codes)
        expected = _converted(text, code, FORMATS[source], FORMATS[to], way)
        assert _agrees(library.run(text, code), expected, FORMATS[to]), hex(code)


def _converted(text: str, code: int, source: Format, to: Format, way: str) -> int | None:
    x = decoded(code, source)
    if ".relu" in text and x < 0:
        return 0
    found = encoded(x, to, way)
    saturates = ".satfinite" in text and found is not None and found & to.infinity == to.infinity
    return found - 1 if found is not None and saturates else found


@pytest.mark.parametrize("text", TO_PAIRS)
def test_conversions_to_pairs(library: Library, text: str) -> None:
    to = FORMATS[text.split(".")[-2].removesuffix("x2")]
    way, codes = text.split(".")[1], floats(F32, text)
    for _ in range(5 * DRAWN):
        pair = next(codes), next(codes)
        found = library.run(text, *pair)
        for code, half in zip(pair, (found >> 16, found), strict=True):
            assert _agrees(half, _converted(text, code, F32, to, way), to), hex(code)


@pytest.mark.parametrize("text", TO_INTEGERS)
def test_conversions_to_integers_end_at_the_limits(library: Library, text: str) -> None:
    _, _, (to, source) = _of(text)
    way, width, codes = text.split(".")[1][:2], int(to[1:]), floats(FORMATS[source], text)
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if to[0] == "s" else (0, (1 << width) - 1)
    for _ in range(5 * DRAWN):
        code = next(codes)
        expected = whole(decoded(code, FORMATS[source]), way, low, high) & (1 << width) - 1
        assert library.run(text, code) & (1 << width) - 1 == expected, hex(code)


@pytest.mark.parametrize("text", FROM_INTEGERS)
def test_conversions_of_integers_are_rounded_once(library: Library, text: str) -> None:
    _, way, (_, source) = _of(text)
    width, numbers = int(source[1:]), integers(int(source[1:]), text)
    for _ in range(5 * DRAWN):
        number = next(numbers)
        value = Fraction(signed(number, width) if source[0] == "s" else number)
        assert _agrees(library.run(text, number), encoded(value, F32, way), F32), number

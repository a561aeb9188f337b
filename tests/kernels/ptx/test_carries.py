"""Sums, differences and products of several words, whose carry goes from one instruction to the next."""

import pathlib
from collections.abc import Callable

import pytest

from morph.kernels import ptx
from tests.kernels.ptx.snippets import Library
from tests.kernels.ptx.test_instructions import integers, signed

WORDS = ".reg .u32 r<8>; mov.b64 {r4, r5}, $1; mov.b64 {r6, r7}, $2;"
PRODUCT = f"""{{ {WORDS}
mul.lo.u32 r0, r4, r6; mul.hi.u32 r1, r4, r6; mad.lo.cc.u32 r1, r5, r6, r1; madc.hi.u32 r2, r5, r6, 0;
mad.lo.cc.u32 r1, r4, r7, r1; madc.hi.cc.u32 r2, r4, r7, r2; addc.u32 r3, 0, 0;
mad.lo.cc.u32 r2, r5, r7, r2; madc.hi.u32 r3, r5, r7, r3; mov.b64 $0, {{%s, %s}}; }}"""
MODEL: dict[str, Callable[..., int]] = {
    f"{{ {WORDS} add.cc.u32 r0, r4, r6; addc.s32 r1, r5, r7; mov.b64 $0, {{r0, r1}}; }}": lambda a, b: a + b,
    f"{{ {WORDS} sub.cc.s32 r0, r4, r6; subc.u32 r1, r5, r7; mov.b64 $0, {{r0, r1}}; }}": lambda a, b: a - b,
    "{ .reg .u64 x; add.cc.u64 x, $1, $2; addc.u64 $0, 0, 0; }": lambda a, b: a + b >> 64,
    "{ .reg .u64 x; sub.cc.u64 x, $1, $2; subc.u64 $0, 0, 0; }": lambda a, b: a - b >> 64,
    "{ .reg .u64 x; add.cc.u64 x, $1, $2; addc.cc.u64 x, $3, $4; addc.u64 $0, 0, 0; }": lambda a, b, c, d: (
        (c << 64 | a) + (d << 64 | b) >> 128
    ),
    "{ .reg .u64 x; sub.cc.u64 x, $1, $2; subc.cc.u64 x, $3, $4; subc.u64 $0, 0, 0; }": lambda a, b, c, d: (
        (c << 64 | a) - (d << 64 | b) >> 128
    ),
    "{ .reg .u64 x; mad.lo.cc.u64 x, $1, $2, $3; madc.hi.u64 $0, $1, $2, $4; }": lambda a, b, c, d: (
        (a * b + c >> 64) + d
    ),
    "{ .reg .s64 x; mad.hi.cc.s64 x, $1, $2, $3; addc.s64 $0, $4, 0; }": lambda a, b, c, d: (
        ((signed(a, 64) * signed(b, 64) >> 64) % (1 << 64) + c >> 64) + d
    ),
    "{ .reg .pred p; .reg .u64 x; setp.lt.u64 p, $1, $2; add.cc.u64 x, $3, $3; @p add.cc.u64 x, $4, $4;"
    " addc.u64 $0, 0, 0; }": lambda a, b, c, d: (d if a < b else c) >> 63,
    PRODUCT % ("r0", "r1"): lambda a, b: a * b,
    PRODUCT % ("r2", "r3"): lambda a, b: a * b >> 64,
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """All texts, compiled at once."""
    return Library(MODEL, pathlib.Path(tmp_path_factory.mktemp("ptx")))


@pytest.mark.parametrize("text", MODEL)
def test_words_of_long_integers(library: Library, text: str) -> None:
    model, numbers = MODEL[text], integers(64, text)
    for _ in range(400):
        operands = [next(numbers) for _ in range(model.__code__.co_argcount)]
        assert library.run(text, *operands) == model(*operands) % (1 << 64), operands


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("addc.u32 $0, $1, 1;", r"addc.u32 \$0, \$1, 1: no instruction before it in its asm leaves a carry"),
        ("addc.cc.u32 $0, $1, 1;", "leaves a carry"),
        ("add.cc.u16 $0, $1, 1;", r"there is no carry of .u16"),
        ("add.cc.f32 $0, $1, $2;", r"there is no carry of .f32"),
        ("add.sat.cc.s32 $0, $1, $2;", ".sat is not translated"),
        ("mad.wide.cc.u32 $0, $1, $2, $1;", ".wide is not translated"),
        ("mul.lo.cc.u32 $0, $1, $2;", "this instruction is not translated"),
        ("add.cc.u32 $0, $1, 1; madc.wide.u32 $0, $1, 1, 1;", ".wide is not translated"),
    ],
)
def test_a_carry_that_is_not_there_is_refused(text: str, words: str) -> None:
    with pytest.raises(ptx.UnsupportedInstructionError, match=words):
        ptx.translate(text, {f"${place}": (f"r[{place}]", 64) for place in range(4)})

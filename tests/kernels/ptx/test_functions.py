"""Functions of floating-point numbers: comparisons, extremes, signs, pairs, and what is approximate."""

import math
import pathlib
import struct
from collections.abc import Callable

import pytest
import torch

from morph.kernels import ptx
from tests.kernels.ptx.model import COMPARISONS
from tests.kernels.ptx.snippets import Library

NAN, TINY = math.nan, 1e-40  # the second is subnormal in float32
VALUES = [0.0, -0.0, 1.0, -1.0, 2.5, math.inf, -math.inf, NAN]
APPROXIMATE: dict[str, Callable[[float], float]] = {
    "ex2.approx.ftz.f32": lambda x: 2.0**x,
    "lg2.approx.f32": math.log2,
    "rcp.approx.f32": lambda x: 1 / x,
    "sqrt.approx.f32": math.sqrt,
    "rsqrt.approx.f32": lambda x: 1 / math.sqrt(x),
    "sin.approx.f32": math.sin,
    "cos.approx.f32": math.cos,
    "tanh.approx.f32": math.tanh,
}
OTHERS = [
    "max.f32 $0, $1, $2;",
    "min.NaN.f32 $0, $1, $2;",
    "min.f32 $0, $1, $2;",
    "neg.f32 $0, $1;",
    "abs.f32 $0, $1;",
    "copysign.f32 $0, $1, $2;",
    "add.ftz.f16 $0, $1, $2;",
    "cvt.rn.ftz.f32.f64 $0, $1;",
    "add.ftz.f32 $0, $1, $2;",
    "add.sat.f32 $0, $1, $2;",
    "add.f32 $0, $1, 0f3F800000;",
    "add.f32 $0, $1, 1.5;",
    "add.f16x2 $0, $1, $2;",
    "fma.rn.bf16x2 $0, $1, $2, $3;",
    "cvt.rn.f16x2.f32 $0, $1, $2;",
    "cvt.rn.bf16x2.f32 $0, $1, $2;",
    "neg.bf16x2 $0, $1;",
    "div.full.f32 $0, $1, $2;",
    "mov.u64 $0, %globaltimer;",
    *(
        text
        for small in ("e4m3x2", "e5m2x2")
        for text in (
            f"cvt.rn.satfinite.{small}.f32 $0, $1, $2;",
            f"cvt.rn.satfinite.{small}.f16x2 $0, $1;",
            f"cvt.rn.f16x2.{small} $0, $1;",
            f"cvt.rn.relu.satfinite.{small}.f32 $0, $1, $2;",
            f"cvt.rn.relu.f16x2.{small} $0, $1;",
        )
    ),
]


def comparing(relation: str) -> str:
    """Return a text that compares two numbers of float32."""
    return f"{{ .reg .pred p; setp.{relation}.f32 p, $1, $2; selp.u32 $0, 1, 0, p; }}"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """All texts, compiled at once."""
    texts = [*map(comparing, COMPARISONS), *(f"{name} $0, $1;" for name in APPROXIMATE), *OTHERS]
    return Library(texts, pathlib.Path(tmp_path_factory.mktemp("ptx")))


def bits(x: float) -> int:
    """Return the bits of a number of float32."""
    return int.from_bytes(struct.pack("<f", x), "little")


def number(code: int) -> float:
    """Return the number of float32 of some bits."""
    return float(struct.unpack("<f", struct.pack("<I", code & 0xFFFFFFFF))[0])


@pytest.mark.parametrize("relation", COMPARISONS)
def test_comparisons(library: Library, relation: str) -> None:
    for a in VALUES:
        for b in VALUES:
            found = library.run(comparing(relation), bits(a), bits(b))
            assert found == COMPARISONS[relation](a, b), (a, b)


@pytest.mark.parametrize("name", APPROXIMATE)
def test_what_is_approximate_is_near(library: Library, name: str) -> None:
    for step in range(1, 80):
        x = number(bits(step / 16))
        found, expected = number(library.run(f"{name} $0, $1;", bits(x))), APPROXIMATE[name](x)
        assert found == pytest.approx(expected, rel=2**-22, abs=2**-22), x


def test_extremes_and_signs(library: Library) -> None:
    def run(text: str, *values: float) -> float:
        return number(library.run(text, *map(bits, values)))

    assert run("max.f32 $0, $1, $2;", NAN, 1) == run("max.f32 $0, $1, $2;", 1, -2) == 1
    assert math.copysign(1, run("min.f32 $0, $1, $2;", 0.0, -0.0)) == -1
    assert math.isnan(run("min.NaN.f32 $0, $1, $2;", NAN, 1))
    assert library.run("add.f32 $0, $1, 1.5;", bits(NAN)) == 0x7FFFFFFF, "the canonical one"
    assert run("neg.f32 $0, $1;", 2) == -2
    assert run("abs.f32 $0, $1;", -2) == 2
    assert run("copysign.f32 $0, $1, $2;", -1, 3) == -3
    assert run("add.ftz.f32 $0, $1, $2;", TINY, TINY) == 0
    assert library.run("add.ftz.f16 $0, $1, $2;", 0x8001, 0x8001) == 0x8000
    assert library.run("cvt.rn.ftz.f32.f64 $0, $1;", 0xB7A0000000000000) == 0x80000000, "-2 ** -133"
    assert [run("add.sat.f32 $0, $1, $2;", x, 0.5) for x in (-2, 0.25, 3, NAN)] == [0, 0.75, 1, 0]
    assert run("add.f32 $0, $1, 0f3F800000;", 2) == 3
    assert run("add.f32 $0, $1, 1.5;", 2) == 3.5
    assert run("div.full.f32 $0, $1, $2;", 3, 4) == 0.75


def test_two_numbers_in_a_register(library: Library) -> None:
    one, two, three = 0x3C00, 0x4000, 0x4200  # of float16
    assert library.run("add.f16x2 $0, $1, $2;", two << 16 | one, one << 16 | one) == three << 16 | two
    assert library.run("cvt.rn.f16x2.f32 $0, $1, $2;", bits(2), bits(1)) == two << 16 | one
    assert library.run("cvt.rn.bf16x2.f32 $0, $1, $2;", bits(2), bits(1)) == 0x40003F80
    assert library.run("fma.rn.bf16x2 $0, $1, $2, $3;", 0x40003F80, 0x3F803F80, 0x3F803F80) == 0x40404000
    assert library.run("neg.bf16x2 $0, $1;", 0x40003F80) == 0xC000BF80


@pytest.mark.parametrize(("small", "dtype"), [("e4m3x2", torch.float8_e4m3fn), ("e5m2x2", torch.float8_e5m2)])
def test_two_numbers_of_eight_bits(library: Library, small: str, dtype: torch.dtype) -> None:
    """Compared with torch, whose numbers of e5m2 are infinite where PTX's saturate."""
    values = torch.cat(
        [torch.randn(200, generator=torch.Generator().manual_seed(3)) * 300, torch.tensor(VALUES)]
    )
    most = torch.finfo(dtype).max
    codes = values.clamp(-most, most).to(dtype).view(torch.uint8).tolist()
    for value, code in zip(values.tolist(), codes, strict=True):
        code = code if value == value else 0x7F
        found = library.run(f"cvt.rn.satfinite.{small}.f32 $0, $1, $2;", bits(value), bits(1.0))
        assert found >> 8 == code, value
        clipped = library.run(f"cvt.rn.relu.satfinite.{small}.f32 $0, $1, $2;", bits(value), bits(1.0))
        assert clipped >> 8 == (0 if value < 0 or code == 0x80 else code), value
    halves = [int(each) for each in torch.arange(256).to(torch.uint8).view(dtype).half().view(torch.int16)]
    for code, half in enumerate(halves):
        both = library.run(f"cvt.rn.f16x2.{small} $0, $1;", code << 8 | 0x38)
        if half & 0x7FFF <= 0x7C00:
            assert both >> 16 == half & 0xFFFF, code
            clipped = library.run(f"cvt.rn.relu.f16x2.{small} $0, $1;", code << 8 | 0x38)
            assert clipped == (both & 0xFFFF if code & 0x80 else both), code
            again = library.run(f"cvt.rn.satfinite.{small}.f16x2 $0, $1;", both)
            assert again == code << 8 | 0x38 or half & 0x7FFF == 0x7C00, code


def test_the_timer_goes_on(library: Library) -> None:
    first, second = (library.run("mov.u64 $0, %globaltimer;") for _ in range(2))
    assert 0 < first <= second


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 $0, $1, $2, $3;",
            "mma.sync.*: it is translated in CUDA C.. only",
        ),
        ("again: add.u32 $0, $1, 1;", "again:: branches are not translated"),
        ("add.u32 $0, r1, 1;", "r1: this register is not there"),
        ("{ add.u32 $0, $1, 1;", "its brace is not closed"),
        ("add.u32 $0, $1, 1; }", "its brace was not opened"),
        (".shared .b32 x;", ".shared: this is not translated"),
        ("mov.u32 $0, %laneid;", "%laneid: this register is not there"),
        ("add.rz.f16 $0, $1, $2;", "halves are rounded to the nearest only"),
        ("mov.b64 $0, {$1, $2, $3};", "{.*, .*, .*}: .b64 has no such parts"),
        ("add.ftz.f64 $0, $1, $2;", ".ftz of .f64 is not translated"),
        ("setp.lt.f16x2 $0, $1, $2;", "comparisons of pairs are not translated"),
        ("add.f16 $0, $1, 1.5;", "1.5: a constant of .f16 is not translated; mov.b16 puts its bits into a"),
        ("add.f16 $0, $1, 0x3C00;", "0x3C00: a constant of .f16 is not translated"),
        ("fma.rn.ftz.f32.f16 $0, $1, $2, $3;", ".ftz is not translated"),
        ("add.f64.f32 $0, $1, $2;", "this form is not translated"),
        ("mul.f32.f16 $0, $1, $2;", "this form is not translated"),
        ("set.lt.f32.f16 $0, $1, $2;", "this form of set is not translated"),
        ("set.lt.f16x2.bf16x2 $0, $1, $2;", "this form of set is not translated"),
        ("set.lo.u32.f32 $0, $1, $2;", ".lo is not translated"),
        ("set.ltu.u32.s32 $0, $1, $2;", ".ltu is not translated"),
        ("set.lt.ftz.u32.bf16 $0, $1, $2;", ".ftz is not translated"),
        ("cvt.rn.sat.f32.s32 $0, $1;", ".sat is not translated"),
        ("ld.shared.u32 $0, [$1];", "ld.shared.u32 .*: it is translated in CUDA C.. only"),
        ("ld.global.u32 $0, [$1 - 4];", "the address .* is not translated"),
        ("st.global.v2.u32 [$0], $1;", "2 registers are expected"),
        ("cvt.rn.relu.f32.f64 $0, $1;", "this conversion is not translated"),
        ("cvt.rm.relu.f16.f32 $0, $1;", ".rm is not translated"),
        ("cvt.rn.satfinite.s8.f32 $0, $1;", "this conversion is not translated"),
        ("cvt.pack.sat.u8.s32 $0, $1, $2;", "this conversion is not translated"),
        ("cvt.pack.sat.u16.s32.b32 $0, $1, $2, $3;", "this conversion is not translated"),
        ("cvt.pack.sat.u4.s32.b32 $0, $1, $2;", "this conversion is not translated"),
        ("cvt.rn.f16x2.f16 $0, $1, $2;", "this conversion is not translated"),
        ("cvt.rz.relu.satfinite.e4m3x2.f32 $0, $1, $2;", ".rz is not translated"),
        ("setmaxnreg.inc.sync.aligned.u32 240;", "this instruction is not translated"),
    ],
)
def test_what_is_not_translated_is_refused_by_its_text(text: str, words: str) -> None:
    with pytest.raises(ptx.UnsupportedInstructionError, match=words):
        ptx.translate(text, {f"${place}": (f"r[{place}]", 64) for place in range(4)})


def test_what_has_no_place_for_its_result_is_carried_out() -> None:
    names = {"$0": ("a", 64), "$1": ("b", 32)}
    assert ptx.translate("{ atom.global.add.u32 _, [$0], $1; }", names, in_block=True)[0].startswith(
        "(void)("
    )


def test_comments_scopes_and_many_registers() -> None:
    text = "// first\n{ .reg .b32 r<3>; /* a\nb */ mov.b32 r2, $1; mov.b32 $0, r2; }"
    lines = ptx.translate(text, {"$0": ("a", 32), "$1": ("b", 32)})
    assert lines[:3] == ["uint32_t ptx_0 = 0;", "uint32_t ptx_1 = 0;", "uint32_t ptx_2 = 0;"]
    assert len(lines) == 5


@pytest.mark.parametrize(
    "text",
    [
        "shfl.sync.b32 $0, $1, 1, 31, -1;",
        "vote.sync.uni.pred $0, $1, -1;",
        "atom.global.b32 $0, [$1], $2;",
        "atom.add.noftz.v2.f16x2 $0, [$1], $2;",
        "bar.red.popc.u32 $0, 0, $1;",
        "cp.async.bulk.commit_group;",
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {$0}, {$1}, {$2}, {$3};",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0}, {$1}, {$2}, {$3};",
        "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {$0}, {$1}, {$2}, {$3};",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b8 {$0}, [$1 + $2 + 1];",
        "movmatrix.sync.aligned.m8n8.b16 $0, $1;",
        "movmatrix.sync.aligned.m8n16.trans.b16 $0, $1;",
        "wgmma.fence.sync.aligned;",
        "{ .reg .pred p; setp.ne.u32 p, $0, 0; cp.async.ca.shared.global [$1], [$2], 4, p; }",
    ],
)
def test_what_a_block_does_not_do_is_refused(text: str) -> None:
    with pytest.raises(ptx.UnsupportedInstructionError):
        ptx.translate(text, {f"${place}": (f"r[{place}]", 32) for place in range(4)}, in_block=True)

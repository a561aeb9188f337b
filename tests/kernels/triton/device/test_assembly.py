"""Inline assembly in PTX, one element or several in a register."""

import time

import pytest
import torch

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")


@triton.jit
def softplus(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    result = tl.inline_asm_elementwise(
        """
        {
            .reg .pred large;
            .reg .f32 power, sum;
            setp.gt.f32 large, $1, 20.;  // where the sum would lose the number
            mul.f32 power, $1, 0f3FB8AA3B;  // log2(e)
            ex2.approx.ftz.f32 power, power;
            add.f32 sum, power, 0f3F800000;
            lg2.approx.ftz.f32 sum, sum;
            mul.f32 sum, sum, 0f3F317218;  // ln(2)
            @large mov.f32 $0, $1;
            @!large mov.f32 $0, sum;
        }
        """,
        "=f,f",
        [tl.load(x + i)],
        tl.float32,
        is_pure=True,
        pack=1,
    )
    tl.store(out + i, result)


def test_predicates_and_functions():
    x = torch.linspace(-30, 40, 128, device="cuda")
    out = torch.empty_like(x)
    softplus[(1,)](x, out, BLOCK=128)
    torch.testing.assert_close(out, torch.nn.functional.softplus(x))


@triton.jit
def bytes_of(x, y, low, high, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    both = tl.inline_asm_elementwise(
        "and.b32 $0, $2, $3; or.b32 $1, $2, $3;",
        "=&r,=r,r,r",
        [tl.load(x + i), tl.load(y + i)],
        dtype=(tl.int8, tl.int8),
        is_pure=True,
        pack=4,
    )
    tl.store(low + i, both[0])
    tl.store(high + i, both[1])


def test_four_bytes_lie_in_a_register_and_two_results_are_returned():
    x, y = (torch.randint(-128, 127, (64,), dtype=torch.int8, device="cuda") for _ in range(2))
    low, high = torch.empty_like(x), torch.empty_like(x)
    bytes_of[(1,)](x, y, low, high, BLOCK=64)
    assert torch.equal(low, x & y)
    assert torch.equal(high, x | y)


@triton.jit
def to_halves(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    halves = tl.inline_asm_elementwise(
        "cvt.rn.bf16x2.f32 $0, $2, $1;", "=r,f,f", [tl.load(x + i)], tl.bfloat16, is_pure=True, pack=2
    )
    tl.store(out + i, halves)


def test_two_numbers_become_the_halves_of_a_register():
    x = torch.randn(128, device="cuda")
    out = torch.empty(128, dtype=torch.bfloat16, device="cuda")
    to_halves[(1,)](x, out, BLOCK=128)
    assert torch.equal(out, x.bfloat16())


@triton.jit
def timed(out):
    tl.store(out + tl.program_id(0), tl.extra.cuda.globaltimer())


def test_the_timer_is_read_by_each_instance():
    out = torch.empty(3, dtype=torch.int64, device="cuda")
    before = time.time_ns()
    timed[(3,)](out)
    times = sorted(out.tolist())
    assert before <= times[0]
    assert times[-1] <= time.time_ns()


@triton.jit
def multiplied(x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.inline_asm_elementwise(
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 $0, $1, $1, $1;",
        "=l,l",
        [tl.load(x + i)],
        tl.int64,
        True,
        1,
    )
    tl.store(x + i, value)


def test_what_is_not_translated_is_refused_by_its_instruction():
    x = torch.arange(8, dtype=torch.int64).cuda()
    with pytest.raises(
        NotImplementedError, match=r"mma\.sync\.aligned.*\$1: it is translated in CUDA C\+\+ only"
    ):
        multiplied[(1,)](x, BLOCK=8)

"""Atomic operations, halves, vector types and mathematics, compared with torch."""

import functools
import math
import operator

import pytest
import torch

from tests.kernels.extensions.device.corpus import call, cuda

KINDS = {"float": torch.float32, "double": torch.float64, "int": torch.int32, "half": torch.float16}


@pytest.mark.parametrize("kind", KINDS)
def test_atomic_addition(kind):
    values = torch.randint(-4, 5, (400,)).to(KINDS[kind]).cuda()
    out = torch.zeros(1, device="cuda", dtype=KINDS[kind])
    call("numbers", f"launch_add_{kind}", values, out, 400)
    assert out[0] == values.sum()


def test_every_other_atomic_operation():
    values = torch.randint(1, 1 << 20, (200,), dtype=torch.int32)
    out = torch.tensor([0, 1 << 30, 0, -1, 0, 0], device="cuda", dtype=torch.int32)
    wrapped = torch.tensor([0, 5], device="cuda", dtype=torch.int32)
    wide = torch.zeros(1, device="cuda", dtype=torch.int64)
    call("numbers", "launch_atomics", values.cuda(), out, wrapped, wide, 200)
    numbers = values.tolist()
    bits = [functools.reduce(each, numbers) for each in (operator.or_, operator.and_, operator.xor)]
    assert out.tolist() == [max(numbers), min(numbers), *bits, -sum(numbers)]
    assert wrapped.tolist() == [0, 5]
    assert int(wide) == max(numbers) << 32


def test_addition_by_compare_and_swap():
    values = cuda(64, dtype=torch.float64)
    out = torch.zeros(1, device="cuda", dtype=torch.float64)
    call("numbers", "launch_add_swapping", values, out)
    torch.testing.assert_close(out[0], values.sum())


def saturated(value: float, bits: int, *, signed: bool) -> int:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return int(min(max(value, low), high))


def cast(value: float, *, is_wide: bool) -> list[int]:
    """Return what a GPU makes of a value for int, unsigned, long long, short, uint16, int8, uint8, ..."""
    if value != value:
        narrow, wide = (-(1 << 31), 1 << 31) if is_wide else (0, 0)
        return [narrow, wide, -(1 << 63), 0, 0, 0, 0, wide, 1 << 62]
    signed, unsigned = saturated(value, 32, signed=True), saturated(value, 32, signed=False)
    lowest = [part for bits in (16, 8) for part in (of_lowest(signed, bits), unsigned % (1 << bits))]
    floor = saturated(math.floor(value) if math.isfinite(value) else value, 32, signed=True)
    of_64 = saturated(value, 64, signed=True)
    return [
        signed,
        unsigned,
        of_64,
        *lowest,
        floor % (1 << 32),
        saturated(value, 64, signed=False) >> 1,
    ]


def of_lowest(number: int, bits: int) -> int:
    half = 1 << bits - 1
    return (number + half) % (2 * half) - half


def test_casts_saturate():
    edges = [0.0, 1.5, -1.5, -0.5, 127.9, 200, 300, -129, 40000, 70000, -40000, 2.0**31, 2.0**31 - 128]
    edges += [-(2.0**31), -(2.0**31) - 512, 2.0**32, 3e9, 1e19, -1e19, 2.0**63, 2.0**64, 1e30, -1e30]
    values = torch.tensor([*edges, float("inf"), -float("inf"), float("nan")], dtype=torch.float64)
    n = len(values)
    out = torch.zeros(2, n, 9, device="cuda", dtype=torch.int64)
    call("numbers", "launch_casts", values.float().cuda(), values.cuda(), out, n)
    assert out[0].tolist() == [cast(value, is_wide=False) for value in values.float().tolist()]
    assert out[1].tolist() == [cast(value, is_wide=True) for value in values.tolist()]


def test_half():
    values, out = cuda(64, dtype=torch.float16), torch.zeros(4, 64, device="cuda", dtype=torch.float16)
    call("numbers", "launch_halves", values, out, 64)
    wide = values.float()
    expected = [(wide * wide + 1.5).half(), (wide / 3).half(), wide.exp().half()]
    torch.testing.assert_close(out[:3], torch.stack(expected), rtol=1e-3, atol=0)
    assert torch.equal(out[3].view(-1, 2), values.view(-1, 2) + values[:2])


def test_conversion_to_half_rounds_as_torch():
    edges = torch.tensor(
        [65519.0, 65520.0, -70000.0, 6e-8, 2.9e-8, 1e-9, 0.0, -0.0, float("inf"), 1.00048828125]
    )
    values = torch.cat([edges, torch.randn(54) * 1e-5]).half()
    out = torch.zeros(4, 64, device="cuda", dtype=torch.float16)
    call("numbers", "launch_halves", values.cuda(), out, 64)
    assert torch.equal(out[1].cpu(), (values.float() / 3).half())


def test_bfloat16():
    values, out = cuda(64, dtype=torch.bfloat16), torch.zeros(2, 64, device="cuda", dtype=torch.bfloat16)
    call("numbers", "launch_brains", values, out, 64)
    assert torch.equal(out, torch.stack([values * values, values + 1]))


def test_conversion_to_halves_in_a_direction():
    whole = torch.tensor(
        [0, 1, 2049, -2049, 4099, 70000, -70000, 2**24 + 1, 2**31 - 1, -(2**31)], dtype=torch.int32
    )
    tiny = 2.0**-140
    reals = torch.tensor(
        [0.0, 1 / 3, -1 / 3, 65519.0, -65519.0, 3e38, tiny, -tiny, float("inf"), -float("inf")]
    )
    halves = torch.empty(6, 10, device="cuda", dtype=torch.float16)
    brains = torch.empty(6, 10, device="cuda", dtype=torch.bfloat16)
    call("numbers", "launch_directed", whole.cuda(), reals.cuda(), halves, brains, 10)
    for out in (halves.cpu(), brains.cpu()):
        expected = [_directed(x, out.dtype, to) for x in (whole, reals) for to in ("zero", "down", "up")]
        assert torch.equal(out, torch.stack(expected))


def test_vector_types():
    values, out = cuda(16, 4), torch.empty(16, 4, device="cuda")
    call("numbers", "launch_vectors", values, out, 16)
    x, y, z, w = values.unbind(1)
    assert torch.equal(out, torch.stack([w, z, y.clamp(0), x.clamp(max=1)], 1))


def test_mathematics():
    x, out = cuda(64), torch.empty(6, 64, device="cuda")
    call("numbers", "launch_mathematics", x, out, 64)
    numbers = range(64)
    bits = [bin(i).count("1") + 32 - i.bit_length() + (i & -i).bit_length() + _reversed(i) for i in numbers]
    expected = [
        (x.abs() + 1).rsqrt(),
        x.exp() + (x.abs() + 1).log(),
        torch.special.ndtr(x),
        x.clamp(0, 1) + x.round(),
        x.sin() * x.cos() + x,
        torch.tensor(bits, device="cuda", dtype=torch.float32),
    ]
    torch.testing.assert_close(out, torch.stack(expected))


def _directed(exact, kind, to):
    """Return the neighbour in a direction of each number; torch rounds to the nearest."""
    exact, nearest = exact.double(), exact.to(kind)
    upwards = exact < 0 if to == "zero" else torch.full(exact.shape, to == "up")
    wrong = torch.where(upwards, nearest.double() < exact, nearest.double() > exact)
    towards = torch.where(upwards, float("inf"), -float("inf")).to(kind)
    return torch.where(wrong, nearest.nextafter(towards), nearest)


def _reversed(number):
    return int(f"{number:032b}"[::-1], 2) >> 28


@pytest.mark.parametrize(("name", "dtype"), [("e4m3", torch.float8_e4m3fn), ("e5m2", torch.float8_e5m2)])
def test_every_half_as_a_number_of_eight_bits_and_back(name, dtype):
    codes = torch.arange(1 << 16).to(torch.uint16).view(torch.int16)
    halves, numbers = codes.view(torch.float16), codes.view(torch.float16).double()
    out = torch.zeros(6, 1 << 16, dtype=torch.uint8, device="cuda")
    back = torch.zeros(3, 1 << 16, device="cuda")
    call("float8", f"launch_{name}", codes.cuda(), out, back, 1 << 16)
    plain, *saturated = out.cpu().view(dtype).double()
    most = torch.finfo(dtype).max
    expected = halves.to(dtype).double()
    if (
        dtype == torch.float8_e4m3fn
    ):  # torch saturates; without that what is nearer to the next number is none
        expected[numbers.abs() > 464] = math.nan
    torch.testing.assert_close(plain, expected, rtol=0, atol=0, equal_nan=True)
    for each in saturated:
        torch.testing.assert_close(
            each, numbers.clamp(-most, most).to(dtype).double(), rtol=0, atol=0, equal_nan=True
        )
    whole = torch.arange(1 << 16)
    low, high = ((whole >> shift & 255).to(torch.uint8).view(dtype).float() for shift in (0, 8))
    torch.testing.assert_close(back.cpu(), torch.stack([low, low, high]), rtol=0, atol=0, equal_nan=True)

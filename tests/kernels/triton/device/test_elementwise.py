"""Arithmetic, comparisons, conversions and functions of each element, compared with torch."""

import pytest
import torch

from tests.kernels.triton.fuzzing.files import numbers, of_each

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")

N = 128
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)


@triton.jit
def add(x, y, out, count, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = places < count
    tl.store(out + places, tl.load(x + places, mask=mask) + tl.load(y + places, mask=mask), mask=mask)


@pytest.mark.parametrize("count", [1, 127, 1000])
def test_masked_tail(count):
    x, y = numbers(count), numbers(count, seed=1)
    out = torch.full((count + 1,), -7.0, device="cuda")
    add[(triton.cdiv(count, 128),)](x, y, out, count, BLOCK=128)
    assert torch.equal(out[:count], x + y)
    assert out[count] == -7


ARITHMETIC = {
    "a + b": torch.add,
    "a - b": torch.sub,
    "a * b": torch.mul,
    "tl.maximum(a, b)": torch.maximum,
    "tl.minimum(a, b)": torch.minimum,
    "tl.where(a < b, a, b)": torch.minimum,
    "-a": lambda a, b: -a,
    "(a == b) | (a >= b)": lambda a, b: (a >= b).to(a.dtype),
}
OF_INTEGERS = {
    "a // b": lambda a, b: torch.div(a, b, rounding_mode="trunc"),  # as in C
    "a % b": torch.fmod,
    "a & b": torch.bitwise_and,
    "a | b": torch.bitwise_or,
    "a ^ b": torch.bitwise_xor,
    "~a": lambda a, b: ~a,
    "a >> 1": lambda a, b: a >> 1,
    "a << 1": lambda a, b: a << 1,
}
CONVERTED = ("a.to(out.dtype.element_ty)",)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_arithmetic(dtype, tmp_path):
    x, y = numbers(N, dtype=dtype), numbers(N, dtype=dtype, seed=1)
    y[:5] = x[:5]
    y[y == 0] = 3
    rows = ARITHMETIC if dtype.is_floating_point else ARITHMETIC | OF_INTEGERS
    expected = [function(x, y) for function in rows.values()]
    assert torch.equal(of_each(rows, (x, y), tmp_path), torch.stack(expected))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (torch.float32, torch.bfloat16),
        (torch.float32, torch.float16),
        (torch.float32, torch.float8_e5m2),
        (torch.float16, torch.float8_e4m3fn),
        (torch.bfloat16, torch.float64),
        (torch.float8_e4m3fn, torch.float32),
        (torch.float8_e5m2, torch.float16),
        (torch.int8, torch.bfloat16),
        (torch.uint8, torch.float32),
        (torch.float64, torch.int32),
        (torch.int64, torch.int8),
        (torch.int16, torch.bool),
    ],
)
def test_conversions(source, target, tmp_path):
    x = (numbers(N) * 30).to(source)
    (out,) = of_each(CONVERTED, (x,), tmp_path, dtype=target)
    assert torch.equal(out.cpu().view(torch.uint8), x.to(target).cpu().view(torch.uint8))


FUNCTIONS = {
    "tl.exp(a)": torch.exp,
    "tl.exp2(a)": torch.exp2,
    "tl.log(a)": torch.log,
    "tl.log2(a)": torch.log2,
    "tl.sin(a)": torch.sin,
    "tl.cos(a)": torch.cos,
    "tl.sqrt(a)": torch.sqrt,
    "tl.rsqrt(a)": torch.rsqrt,
    "tl.erf(a)": torch.erf,
    "tl.sigmoid(a)": torch.sigmoid,
    "tl.floor(a)": torch.floor,
    "tl.ceil(-a)": lambda a: -a.floor(),
    "tl.abs(-a)": torch.abs,
    "tl.fma(a, a, a)": lambda a: a * a + a,
    "libdevice.tanh(a)": torch.tanh,
    "libdevice.log1p(a)": torch.log1p,
    "libdevice.pow(a, a)": lambda a: a.pow(a),
    "libdevice.atan2(a, a + 1)": lambda a: torch.atan2(a, a + 1),
    "libdevice.rint(a)": torch.round,
    "libdevice.erfinv(a / 10)": lambda a: (a / 10).erfinv(),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_functions(dtype, tmp_path):
    x = torch.linspace(0.01, 9.7, N, dtype=dtype).cuda()
    expected = [function(x.double()) for function in FUNCTIONS.values()]
    close = {"rtol": 4e-7, "atol": 1e-7} if dtype == torch.float32 else {"rtol": 1e-13, "atol": 1e-14}
    torch.testing.assert_close(of_each(FUNCTIONS, (x,), tmp_path), torch.stack(expected).to(dtype), **close)


@pytest.mark.parametrize("target", [torch.float16, torch.bfloat16])
def test_rounding_of_every_exponent(target, tmp_path):
    words = torch.randint(-(2**31), 2**31, (1 << 16,), generator=torch.Generator().manual_seed(0))
    ties = torch.arange(1 << 16) * (1 << 16) + 0x1000  # between two halves, or two numbers of bfloat16
    x = torch.cat([words, ties]).to(torch.int32).view(torch.float32).cuda()
    (out,) = of_each(CONVERTED, (x,), tmp_path, dtype=target)
    torch.testing.assert_close(out, x.to(target), rtol=0, atol=0, equal_nan=True)


def test_rounding_to_half_from_double(tmp_path):
    x = torch.tensor([1 + 2**-11 + 2**-40, 1 + 2**-11 - 2**-40], dtype=torch.float64, device="cuda")
    assert of_each(CONVERTED, (x,), tmp_path, dtype=torch.float16).tolist() == [[1 + 2**-10, 1]]


def test_fusion_of_products_and_sums(tmp_path):
    a = 1 + 2.0**-12
    texts, x = ("tl.fma(a, a, -1.0)", "a * a - 1.0"), torch.full((8,), a, device="cuda")
    out = of_each(texts, (x,), tmp_path, enable_fp_fusion=False)
    assert out[:, 0].tolist() == [a * a - 1, 2.0**-11]


def test_limits_of_functions(tmp_path):
    big = [float("inf"), float("-inf"), float("nan"), 100.0, -100.0, 0.0, -0.0, 1e-40]
    x = torch.tensor(big * (N // 8), device="cuda")
    texts = list(FUNCTIONS)[:4]
    for text, row in zip(texts, of_each(texts, (x,), tmp_path), strict=True):
        expected = FUNCTIONS[text](x)
        expected[expected.abs() < 1e-37] = 0  # a GPU's are no subnormal numbers either
        torch.testing.assert_close(row, expected, equal_nan=True)


@triton.jit
def random(out, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.rand(seed, i))
    tl.store(out + N + i, tl.randn(seed, i))


def test_random_numbers():
    out = torch.empty(2, 4096, device="cuda")
    random[(1,)](out, 17, N=4096)
    assert 0 <= out[0].min() < out[0].max() < 1
    assert abs(out[0].mean() - 0.5) < 0.02
    assert abs(out[1].mean()) < 0.05
    assert abs(out[1].std() - 1) < 0.05
    assert out[0, :8].tolist() == pytest.approx([uniform(17, place) for place in range(8)])


def uniform(seed, place):
    """Return the number that Philox 4x32 makes after ten rounds."""
    word, counter, key = (1 << 32) - 1, [place, 0, 0, 0], [seed, 0]
    for _ in range(10):
        first, second = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
        high = [second >> 32 ^ counter[1] ^ key[0], first >> 32 ^ counter[3] ^ key[1]]
        counter = [high[0], second & word, high[1], first & word]
        key = [key[0] + 0x9E3779B9 & word, key[1] + 0xBB67AE85 & word]
    signed = counter[0] - (counter[0] >> 31 << 32)
    return (-signed - 1 if signed < 0 else signed) * 4.6566127342e-10

"""Arithmetic, comparisons, conversions and functions of each element, compared with torch."""

import pytest
import torch

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")
libdevice = pytest.importorskip("triton.language.extra.libdevice")

N = 128
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)


def numbers(dtype, count=N, seed=0):
    generator = torch.Generator().manual_seed(seed)
    if dtype.is_floating_point:
        return torch.randn(count, generator=generator).to(dtype).cuda()
    return (
        torch.randint(0 if dtype == torch.uint8 else -100, 100, (count,), generator=generator)
        .to(dtype)
        .cuda()
    )


@triton.jit
def add(x, y, out, count, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = places < count
    tl.store(out + places, tl.load(x + places, mask=mask) + tl.load(y + places, mask=mask), mask=mask)


@pytest.mark.parametrize("count", [1, 127, 1000])
def test_masked_tail(count):
    x, y = numbers(torch.float32, count), numbers(torch.float32, count, 1)
    out = torch.full((count + 1,), -7.0, device="cuda")
    add[(triton.cdiv(count, 128),)](x, y, out, count, BLOCK=128)
    assert torch.equal(out[:count], x + y)
    assert out[count] == -7


@triton.jit
def arithmetic(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, a + b)
    tl.store(out + N + i, a - b)
    tl.store(out + 2 * N + i, a * b)
    tl.store(out + 3 * N + i, tl.maximum(a, b))
    tl.store(out + 4 * N + i, tl.minimum(a, b))
    tl.store(out + 5 * N + i, tl.where(a < b, a, b))
    tl.store(out + 6 * N + i, -a)
    tl.store(out + 7 * N + i, (a == b) | (a >= b))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_arithmetic(dtype):
    x, y = numbers(dtype), numbers(dtype, seed=1)
    y[:5] = x[:5]
    out = torch.empty(8, N, dtype=dtype, device="cuda")
    arithmetic[(1,)](x, y, out, N=N)
    smaller = torch.minimum(x, y)
    expected = [x + y, x - y, x * y, torch.maximum(x, y), smaller, smaller, -x, (x >= y).to(dtype)]
    assert torch.equal(out, torch.stack(expected))


@triton.jit
def integral(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, a // b)
    tl.store(out + N + i, a % b)
    tl.store(out + 2 * N + i, a & b)
    tl.store(out + 3 * N + i, a | b)
    tl.store(out + 4 * N + i, a ^ b)
    tl.store(out + 5 * N + i, ~a)
    tl.store(out + 6 * N + i, a >> 1)
    tl.store(out + 7 * N + i, a << 1)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(dtype):
    x, y = numbers(dtype), numbers(dtype, seed=1)
    y[y == 0] = 3
    out = torch.empty(8, N, dtype=dtype, device="cuda")
    integral[(1,)](x, y, out, N=N)
    quotient = torch.div(x, y, rounding_mode="trunc")  # as in C
    expected = [quotient, x - quotient * y, x & y, x | y, x ^ y, ~x, x >> 1, x << 1]
    assert torch.equal(out, torch.stack(expected))


@triton.jit
def copy(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty))


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
def test_conversions(source, target):
    x = (numbers(torch.float32) * 30).to(source)
    out = torch.empty(N, dtype=target, device="cuda")
    copy[(1,)](x, out, N=N)
    expected = x.to(target)
    assert torch.equal(out.cpu().view(torch.uint8), expected.cpu().view(torch.uint8))


@triton.jit
def functions(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(out + i, tl.exp(a))
    tl.store(out + N + i, tl.exp2(a))
    tl.store(out + 2 * N + i, tl.log(a))
    tl.store(out + 3 * N + i, tl.log2(a))
    tl.store(out + 4 * N + i, tl.sin(a))
    tl.store(out + 5 * N + i, tl.cos(a))
    tl.store(out + 6 * N + i, tl.sqrt(a))
    tl.store(out + 7 * N + i, tl.rsqrt(a))
    tl.store(out + 8 * N + i, tl.erf(a))
    tl.store(out + 9 * N + i, tl.sigmoid(a))
    tl.store(out + 10 * N + i, tl.floor(a))
    tl.store(out + 11 * N + i, tl.ceil(-a))
    tl.store(out + 12 * N + i, tl.abs(-a))
    tl.store(out + 13 * N + i, tl.fma(a, a, a))
    tl.store(out + 14 * N + i, libdevice.tanh(a))
    tl.store(out + 15 * N + i, libdevice.log1p(a))
    tl.store(out + 16 * N + i, libdevice.pow(a, a))
    tl.store(out + 17 * N + i, libdevice.atan2(a, a + 1))
    tl.store(out + 18 * N + i, libdevice.rint(a))
    tl.store(out + 19 * N + i, libdevice.erfinv(a / 10))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_functions(dtype):
    x = torch.linspace(0.01, 9.7, N, dtype=dtype).cuda()
    out = torch.empty(20, N, dtype=dtype, device="cuda")
    functions[(1,)](x, out, N=N)
    a = x.double()
    expected = [
        *(a.exp(), a.exp2(), a.log(), a.log2(), a.sin(), a.cos(), a.sqrt(), a.rsqrt(), a.erf(), a.sigmoid()),
        *(
            a.floor(),
            -a.floor(),
            a,
            a * a + a,
            a.tanh(),
            a.log1p(),
            a.pow(a),
            torch.atan2(a, a + 1),
            a.round(),
        ),
        (a / 10).erfinv(),
    ]
    close = {"rtol": 4e-7, "atol": 1e-7} if dtype == torch.float32 else {"rtol": 1e-13, "atol": 1e-14}
    torch.testing.assert_close(out, torch.stack(expected).to(dtype), **close)


@pytest.mark.parametrize("target", [torch.float16, torch.bfloat16])
def test_rounding_of_every_exponent(target):
    words = torch.randint(-(2**31), 2**31, (1 << 16,), generator=torch.Generator().manual_seed(0))
    ties = torch.arange(1 << 16) * (1 << 16) + 0x1000  # between two halves, or two numbers of bfloat16
    x = torch.cat([words, ties]).to(torch.int32).view(torch.float32).cuda()
    out = torch.empty(x.shape, dtype=target, device="cuda")
    copy[(1,)](x, out, N=1 << 17)
    torch.testing.assert_close(out, x.to(target), rtol=0, atol=0, equal_nan=True)


def test_rounding_to_half_from_double():
    x = torch.tensor([1 + 2**-11 + 2**-40, 1 + 2**-11 - 2**-40], dtype=torch.float64, device="cuda")
    out = torch.empty(2, dtype=torch.float16, device="cuda")
    copy[(1,)](x, out, N=2)
    assert out.tolist() == [1 + 2**-10, 1]


@triton.jit
def multiplied_and_added(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(out + i, tl.fma(a, a, -1.0))
    tl.store(out + N + i, a * a - 1.0)


def test_fusion_of_products_and_sums():
    a = 1 + 2.0**-12
    x, out = torch.full((8,), a, device="cuda"), torch.empty(2, 8, device="cuda")
    multiplied_and_added[(1,)](x, out, N=8, enable_fp_fusion=False)
    assert out[:, 0].tolist() == [a * a - 1, 2.0**-11]


def test_limits_of_functions():
    big = [float("inf"), float("-inf"), float("nan"), 100.0, -100.0, 0.0, -0.0, 1e-40]
    x = torch.tensor(big * (N // 8), device="cuda")
    out = torch.empty(20, N, device="cuda")
    functions[(1,)](x, out, N=N)
    for row, function in enumerate([torch.exp, torch.exp2, torch.log, torch.log2]):
        expected = function(x)
        expected[expected.abs() < 1e-37] = 0  # a GPU's are no subnormal numbers either
        torch.testing.assert_close(out[row], expected, equal_nan=True)


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

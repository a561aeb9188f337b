"""Functions of libdevice for integers and for several numbers, compared with Python, torch and math."""

import pytest
import torch

from tests.kernels.triton.device.test_elementwise import N

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")
libdevice = pytest.importorskip("triton.language.extra.libdevice")


@triton.jit
def functions_of_integers(x, y, z, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, libdevice.mulhi(a, b))
    tl.store(out + N + i, libdevice.mul24(a, b))
    tl.store(out + 2 * N + i, libdevice.hadd(a, b))
    tl.store(out + 3 * N + i, libdevice.rhadd(a, b))
    tl.store(out + 4 * N + i, libdevice.sad(a, b, tl.load(z + i)))


@pytest.mark.parametrize("dtype", [torch.int32, torch.uint32])
def test_functions_of_integers(dtype):
    signed = dtype == torch.int32
    low = -(2**31) if signed else 0
    edges = [low, low + 1, 0, 1, 2, 2**23, 2**24 - 1, low + 2**32 - 1]
    pairs = [(a, b) for a in edges for b in edges]
    x, y = (torch.tensor(each).to(dtype).cuda() for each in zip(*pairs, strict=True))
    z = torch.full((len(pairs),), 5, dtype=torch.uint32, device="cuda")
    out = torch.empty(5, len(pairs), dtype=dtype, device="cuda")
    functions_of_integers[(1,)](x, y, z, out, N=len(pairs))

    def low_bits(number):
        number &= 2**24 - 1
        return number - 2**24 if signed and number >> 23 else number

    expected = [
        [a * b >> 32 for a, b in pairs],
        [low_bits(a) * low_bits(b) for a, b in pairs],
        [a + b >> 1 for a, b in pairs],
        [a + b + 1 >> 1 for a, b in pairs],
        [abs(a - b) + 5 for a, b in pairs],
    ]
    assert out.tolist() == [[(each - low) % 2**32 + low for each in row] for row in expected]


@triton.jit
def high_product(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, libdevice.mulhi(tl.load(x + i), tl.load(y + i)))


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint64])
def test_high_products_of_long_integers(dtype):
    numbers = [-(2**63), -3, 7, 2**62] if dtype == torch.int64 else [2**64 - 1, 3, 7, 2**63]
    x, y = (torch.tensor(each, dtype=dtype, device="cuda") for each in (numbers, numbers[::-1]))
    out = torch.empty_like(x)
    high_product[(1,)](x, y, out, N=4)
    assert out.tolist() == [a * b >> 64 for a, b in zip(numbers, reversed(numbers), strict=True)]


@triton.jit
def functions_of_several(x, order, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a, n = tl.load(x + i), tl.load(order + i)
    tl.store(out + i, libdevice.norm4d(a, a + 1, a + 2, a + 3))
    tl.store(out + N + i, libdevice.rnorm4d(a, a + 1, a + 2, a + 3))
    tl.store(out + 2 * N + i, libdevice.scalbn(a, n))
    tl.store(out + 3 * N + i, libdevice.jn(n, a))
    tl.store(out + 4 * N + i, libdevice.yn(n, a))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_functions_of_several_numbers(dtype):
    x = torch.linspace(0.5, 9.7, N, dtype=dtype).cuda()
    order = (torch.arange(N, dtype=torch.int32) % 2).cuda()
    out = torch.empty(5, N, dtype=dtype, device="cuda")
    functions_of_several[(1,)](x, order, out, N=N)
    a, special = x.double(), torch.special
    norm = torch.stack([a, a + 1, a + 2, a + 3]).norm(dim=0)
    first, second = (
        torch.where(order == 0, zeroth(a), one(a))
        for zeroth, one in (
            (special.bessel_j0, special.bessel_j1),
            (special.bessel_y0, special.bessel_y1),
        )
    )
    torch.testing.assert_close(out[:3], torch.stack([norm, 1 / norm, a * 2**order]).to(dtype))
    torch.testing.assert_close(out[3:], torch.stack([first, second]).to(dtype), rtol=1e-4, atol=2e-6)

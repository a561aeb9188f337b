"""Functions of libdevice for integers and for several numbers, compared with Python, torch and math."""

import pytest
import torch

from tests.kernels.triton.fuzzing.files import of_each

pytest.importorskip("triton")
SMALL = 2**24 - 1


def low_bits(number, low):
    """Return the 24 low bits of a number, as a signed one where the lowest is negative."""
    number &= SMALL
    return number - 2**24 if low and number >> 23 else number


OF_INTEGERS = {
    "libdevice.mulhi(a, b)": lambda a, b, low: a * b >> 32,
    "libdevice.mul24(a, b)": lambda a, b, low: low_bits(a, low) * low_bits(b, low),
    "libdevice.hadd(a, b)": lambda a, b, low: a + b >> 1,
    "libdevice.rhadd(a, b)": lambda a, b, low: a + b + 1 >> 1,
    "libdevice.sad(a, b, c)": lambda a, b, low: abs(a - b) + 5,
}


@pytest.mark.parametrize("dtype", [torch.int32, torch.uint32])
def test_functions_of_integers(dtype, tmp_path):
    low = -(2**31) if dtype == torch.int32 else 0
    edges = [low, low + 1, 0, 1, 2, 2**23, SMALL, low + 2**32 - 1]
    pairs = [(a, b) for a in edges for b in edges]
    x, y = (torch.tensor(each).to(dtype).cuda() for each in zip(*pairs, strict=True))
    z = torch.full((len(pairs),), 5, dtype=torch.uint32, device="cuda")
    expected = [[function(a, b, low) for a, b in pairs] for function in OF_INTEGERS.values()]
    found = of_each(OF_INTEGERS, (x, y, z), tmp_path)
    assert found.tolist() == [[(each - low) % 2**32 + low for each in row] for row in expected]


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint64])
def test_high_products_of_long_integers(dtype, tmp_path):
    numbers = [-(2**63), -3, 7, 2**62] if dtype == torch.int64 else [2**64 - 1, 3, 7, 2**63]
    x, y = (torch.tensor(each, dtype=dtype, device="cuda") for each in (numbers, numbers[::-1]))
    (found,) = of_each(["libdevice.mulhi(a, b)"], (x, y), tmp_path)
    assert found.tolist() == [a * b >> 64 for a, b in zip(numbers, reversed(numbers), strict=True)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_modified_bessel_functions(dtype, tmp_path):
    ends = [float("inf"), -float("inf"), float("nan")]
    x = torch.tensor([0, 1e-30, 0.3, -0.7, 1.5, -2, 9, 20, 25, 40, -55, -80, 600, *ends])
    x = x.to("cuda", dtype)
    found = of_each(["libdevice.cyl_bessel_i0(a)", "libdevice.cyl_bessel_i1(a)"], (x, x), tmp_path)
    special, of_double = torch.special, x.cpu().double()
    expected = torch.stack([special.i0(of_double), special.i1(of_double)])
    expected[0, -3:-1] = expected[1, -3] = float("inf")  # torch's own are NaN
    expected[1, -2] = -float("inf")
    torch.testing.assert_close(found.cpu(), expected.to(dtype), equal_nan=True)


OF_SEVERAL = ("libdevice.norm4d(a, a + 1, a + 2, a + 3)", "libdevice.rnorm4d(a, a + 1, a + 2, a + 3)")
OF_ORDERS = ("libdevice.scalbn(a, b)", "libdevice.jn(b, a)", "libdevice.yn(b, a)")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_functions_of_several_numbers(dtype, tmp_path):
    x = torch.linspace(0.5, 9.7, 128, dtype=dtype).cuda()
    order = (torch.arange(128, dtype=torch.int32) % 2).cuda()
    out = of_each(OF_SEVERAL + OF_ORDERS, (x, order), tmp_path)
    a, special = x.double(), torch.special
    norm = torch.stack([a, a + 1, a + 2, a + 3]).norm(dim=0)
    first = torch.where(order == 0, special.bessel_j0(a), special.bessel_j1(a))
    second = torch.where(order == 0, special.bessel_y0(a), special.bessel_y1(a))
    torch.testing.assert_close(out[:3], torch.stack([norm, 1 / norm, a * 2**order]).to(dtype))
    torch.testing.assert_close(out[3:], torch.stack([first, second]).to(dtype), rtol=1e-4, atol=2e-6)

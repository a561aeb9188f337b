"""Arithmetic whose results are CUDA's where the CPU's are others."""

import warnings

import pytest
import torch
from torch.testing import assert_close

CUDA = "cuda"
HALVES = [torch.float16, torch.bfloat16]


SUMS = {
    "add": lambda x: x + 0.1,
    "rsub": lambda x: 0.1 - x,
    "sub": lambda x: x - 0.1,
    "add of a multiple": lambda x: torch.add(x, x, alpha=0.1),
    "rsub of a multiple": lambda x: torch.rsub(x, x, alpha=0.3),
    "sub_ of a multiple": lambda x: x.clone().sub_(x, alpha=0.1),
    "add_": lambda x: x.clone().add_(0.1),
    "mul of a number": lambda x: torch.tensor(0.37) * x,
    "mul_ by a number": lambda x: torch.ops.aten.mul_.Scalar(x.clone(), 0.37),
}


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", SUMS)
def test_halves_are_computed_in_float32(dtype, name):
    x = torch.rand(1000).to(dtype)
    assert_close(SUMS[name](x.cuda()).cpu(), SUMS[name](x.float()).to(dtype), atol=0, rtol=0)


def test_a_sum_of_halves_does_not_overflow_on_the_way():
    x = torch.tensor([60000.0], dtype=torch.float16, device=CUDA)
    assert [(x - 70000).item(), torch.sub(x, x, alpha=2).item()] == [-10000, -60000]


@pytest.mark.parametrize("name", ["remainder", "fmod", "remainder_", "fmod_"])
@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (torch.int64, [-1, 0xFFFFFFFF, 0]),
        (torch.int32, [-1, -1, 0]),
        (torch.uint8, [255, 255, 0]),
    ],
)
def test_integers_have_a_remainder_of_zero(name, dtype, expected):
    x = torch.tensor([-2, 2, 2], device=CUDA).to(dtype)
    divisor = torch.tensor([0, 0, 1], device=CUDA).to(dtype)
    assert getattr(x.clone(), name)(divisor).tolist() == expected
    assert getattr(torch, name.rstrip("_"))(x, divisor, out=torch.empty_like(x)).tolist() == expected
    assert (2 % divisor).tolist() == [expected[1], expected[1], 0]


def test_bits_are_written_as_integers():
    x = torch.arange(3, device=CUDA)
    for operator in (torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor):
        with pytest.raises(
            NotImplementedError, match=f"{operator.__name__}_cuda. not implemented for 'Float'"
        ):
            operator(x, x, out=torch.empty(3, device=CUDA))
        assert operator(x, x, out=torch.empty(3, dtype=torch.int16, device=CUDA)).dtype == torch.int16


def test_complex_halves_are_computed_in_place_and_by_numbers():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls the type experimental, once in a process
        torch.empty(1, dtype=torch.complex32)
    x = torch.rand(3).half()
    for power in (lambda x: (1 + 1j) ** x, lambda x: x ** (1 + 1j)):
        assert_close(power(x.cuda()).cpu().to(torch.complex64), power(x.float()), atol=1e-2, rtol=1e-2)
    z = torch.rand(3, device=CUDA).to(torch.complex32)
    assert torch.equal(z.clone().sin_().to(torch.complex64), z.sin().to(torch.complex64))


@pytest.mark.parametrize(
    ("dtype", "floor", "truncated"),
    [(torch.int64, [-2, 0xFFFFFFFF, 2], [-1, 0xFFFFFFFF, 2]), (torch.int32, [-2, -1, 2], [-1, -1, 2])],
)
def test_integers_are_divided_by_zero_without_an_error(dtype, floor, truncated):
    x = torch.tensor([-2, 2, 2], device=CUDA).to(dtype)
    divisor = torch.tensor([0, 0, 1], device=CUDA).to(dtype)
    assert (x // divisor).tolist() == x.clone().floor_divide_(divisor).tolist() == floor
    for mode, expected in (("floor", floor), ("trunc", truncated)):
        assert torch.div(x, divisor, rounding_mode=mode).tolist() == expected
        assert x.clone().div_(divisor, rounding_mode=mode).tolist() == expected
    assert torch.div(x, divisor).tolist() == [-torch.inf, torch.inf, 2]
    assert (x // 0).tolist() == [*floor[:2], floor[1]]


NAN, LEAST, LONG_LEAST = float("nan"), -(1 << 31), -(1 << 63)


@pytest.mark.parametrize(("dtype", "least"), [(torch.int32, LEAST), (torch.int64, LONG_LEAST)])
def test_the_least_integer_has_no_quotient_by_minus_one(dtype, least):
    x, minus = (torch.tensor(values, device=CUDA, dtype=dtype) for values in ([least, 7], [-1, -1]))
    assert torch.div(x, minus, rounding_mode="trunc").tolist() == (x // minus).tolist() == [least, -7]
    assert torch.div(x, -1, rounding_mode="trunc").tolist() == [least, -7]


@pytest.mark.parametrize(("dtype", "least"), [(torch.int32, LEAST), (torch.int64, LONG_LEAST)])
def test_the_least_integer_has_a_multiple(dtype, least):
    x = torch.tensor([least, 4, 0], device=CUDA, dtype=dtype)
    other = torch.tensor([least + 1, 6, 0], device=CUDA, dtype=dtype)
    assert torch.lcm(x, other).tolist() == [least, 12, 0]
    assert x.clone().lcm_(other).tolist() == [least, 12, 0]


@pytest.mark.parametrize(
    ("source", "target", "of_nan"),
    [
        (torch.float32, torch.int32, 0),
        (torch.bfloat16, torch.int32, 0),
        (torch.float64, torch.int32, LEAST),
        (torch.float32, torch.int64, LONG_LEAST),
        (torch.float64, torch.int64, LONG_LEAST),
    ],
)
def test_numbers_outside_an_integers_range_become_its_ends(source, target, of_nan):
    limits = torch.iinfo(target)
    values = [1e20, -1e20, torch.inf, NAN, 2.75, -2.75, 2.0**31]
    there = torch.tensor(values, device=CUDA, dtype=source)
    last = min(1 << 31, limits.max)
    expected = [limits.max, limits.min, limits.max, of_nan, 2, -2, last]
    assert there.to(target).tolist() == expected
    assert there.to("cpu", target).tolist() == there.cpu().to(target).tolist()  # converted by the host
    assert torch.zeros(7, device=CUDA, dtype=target).copy_(there.flip(0)).flip(0).tolist() == expected
    assert torch.empty(7, 2, device=CUDA, dtype=target).copy_(there[:, None])[:, 1].tolist() == expected


BEYOND = [1e30, -1e30, NAN, 300.75, -1.5, 3e9]


@pytest.mark.parametrize("source", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (torch.int8, [-1, 0, 0, 44, -1, -1]),
        (torch.int16, [-1, 0, 0, 300, -1, -1]),
        (torch.uint8, [255, 0, 0, 44, 255, 0]),
        (torch.uint16, [65535, 0, 0, 300, 0, 3000000000 % 65536]),
        (torch.uint32, [2**32 - 1, 0, None, 300, 0, 3000000000]),
        (torch.uint64, [2**64 - 1, 0, 2**63, 300, 0, 3000000000]),
    ],
)
def test_small_and_unsigned_integers_are_bits_of_the_nearest(source, target, expected):
    result = torch.tensor(BEYOND, device=CUDA, dtype=source).to(target).tolist()
    of_nan = 0 if source is torch.float32 else 2**31
    assert result == [of_nan if each is None else each for each in expected]


def test_a_single_limit_that_is_not_a_number_limits_nothing():
    x = torch.tensor([NAN, -torch.inf, 0.5], device=CUDA)
    for result in (x.clamp(min=NAN), x.clamp(max=NAN), x.clone().clamp_(min=NAN)):
        assert result.isnan().tolist() == [True, False, False]
        assert torch.equal(result[1:], x[1:])
    assert x.clamp(NAN, 1).isnan().all()
    assert x.clamp_min(NAN).isnan().all()


def test_halves_are_limited_by_numbers_beyond_them():
    x = torch.tensor([-1, 0.5, torch.inf], dtype=torch.float16, device=CUDA)
    assert x.clamp(0, 1e6).tolist() == [0, 0.5, torch.inf]
    assert x.clamp_max(65510).tolist() == [-1, 0.5, 65504]
    assert x.clone().clamp_(-1e6, 0.25).tolist() == [-1, 0.25, 0.25]


NUMBERS = {
    "add": lambda x: x + 1,
    "radd": lambda x: 1 - x,
    "mul": lambda x: x * 2.5,
    "div": lambda x: x / 3,
    "remainder": lambda x: x % 2,
    "floor_divide": lambda x: x // 2,
    "xlogy": lambda x: torch.xlogy(x, 2),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.int32])
@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_takes_no_memory_and_is_read_as_it_is(name, dtype):
    if dtype.is_complex and name in ("remainder", "floor_divide", "xlogy"):
        pytest.skip("no order of complex numbers")
    x = torch.arange(1, 5).to(dtype)
    there = x.cuda()
    before = torch.cuda.memory_stats()["allocation.all.allocated"]
    result = NUMBERS[name](there)
    made = torch.cuda.memory_stats()["allocation.all.allocated"] - before
    assert made == 1 or dtype == torch.int32, f"{name} takes memory {made} times"
    assert_close(result.cpu(), NUMBERS[name](x), atol=0, rtol=0)


def test_numbers_that_a_type_does_not_hold_are_converted_as_on_the_cpu():
    x, whole = torch.ones(2), torch.ones(2, dtype=torch.int32)
    assert_close((x.cuda() * 1e300).cpu(), x * 1e300)
    assert_close((x.cuda() * float("nan")).cpu(), x * float("nan"), equal_nan=True)
    assert_close((whole.cuda() + 2**40).cpu(), whole + 2**40)
    assert (whole.cuda() * 1.5).dtype == torch.float32
    assert (x.cuda() * 1j).dtype == torch.complex64


def test_booleans_have_absolute_values_alone_and_in_lists():
    alike = [torch.tensor([[True, False]] * 2, device=CUDA).t() for _ in range(2)]
    results = torch._foreach_abs(alike)
    assert [each.tolist() for each in results] == [each.abs().tolist() for each in alike]
    assert results[0].stride() == alike[0].stride()
    assert results[0].data_ptr() != alike[0].data_ptr()
    torch._foreach_abs_(alike)
    assert alike[1].tolist() == [[True, True], [False, False]]
    for other in (-torch.ones(2, device=CUDA), torch.ones(4, dtype=torch.bool, device=CUDA)[::2]):
        assert torch._foreach_abs([alike[0], other])[1].tolist() == [1, 1]


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", ["add", "sub"])
def test_halves_in_lists_are_summed_as_alone(dtype, name):
    x, y = (torch.rand(100, device=CUDA).to(dtype) for _ in range(2))
    alone, lists, in_place = (
        getattr(torch, form) for form in (name, f"_foreach_{name}", f"_foreach_{name}_")
    )
    for given, of_lists, options in ((0.3, 0.3, {}), (0.3, [0.3], {}), (y, [y], {"alpha": 0.3})):
        expected = alone(x, given, **options)
        assert_close(lists([x], of_lists, **options)[0], expected, atol=0, rtol=0)
        written = x.clone()
        in_place([written], of_lists, **options)
        assert_close(written, expected, atol=0, rtol=0)


def test_halves_in_lists_have_complex_powers():
    x = torch.rand(100, device=CUDA).half()
    assert torch._foreach_pow([x], 1 + 1j)[0].tolist() == x.pow(1 + 1j).tolist()

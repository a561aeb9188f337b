"""Types that CUDA computes and the CPU's kernels refuse: the type of the result is CUDA's."""

from collections.abc import Callable

import pytest
import torch

from tests.software.cuda.deprecation import ignoring_deprecation

HALF, WIDE = torch.complex32, torch.complex64
RESULTS: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], torch.dtype]] = {
    "by itself": (lambda x: x.exp(), HALF),
    "beside a number": (lambda x: x / 2.0, HALF),
    "beside a number on the device": (lambda x: x / torch.tensor(2.0, device="cuda").double(), HALF),
    "beside a wider tensor": (lambda x: x / torch.ones(2, device="cuda"), WIDE),
    "as a number": (lambda x: x.sum() / torch.ones(2, device="cuda"), WIDE),
    "to a wider type": (lambda x: x.prod(dtype=WIDE), WIDE),
    "to its own type": (lambda x: x.prod(dtype=HALF), HALF),
    "to a narrower type": (lambda x: x.to(WIDE).prod(0, dtype=HALF), HALF),
    "its angle": (lambda x: x.angle(), torch.float16),
    "in place": (lambda x: x.clone().div_(torch.ones(2, device="cuda")), HALF),
}


@pytest.mark.parametrize("which", RESULTS)
@ignoring_deprecation  # torch calls complex halves experimental
def test_the_result_has_the_type_of_the_promotion(which: str) -> None:
    function, dtype = RESULTS[which]
    x = torch.tensor([1 + 1j, 2], dtype=WIDE)
    result = function(x.to(HALF).cuda())
    assert result.dtype is dtype


def test_halves_are_multiplied_to_a_wider_type() -> None:
    x = torch.full((3,), 300.0, dtype=torch.float16, device="cuda")
    assert x.prod().isinf()
    assert x.prod(dtype=torch.float32).item() == 27e6


def test_complex_numbers_that_are_none_are_left_out_of_sums() -> None:
    x = torch.tensor([1 + 1j, complex("nan"), 2], device="cuda")
    assert x.nansum().item() == 3 + 1j


def test_complex_numbers_are_conjugated_in_place() -> None:
    x = torch.tensor([1 + 2j, 3 - 4j], device="cuda", requires_grad=True)
    result = x.clone().conj_physical_()
    assert result.tolist() == [1 - 2j, 3 + 4j]
    result.abs().sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize(("dtype", "most"), [(torch.float8_e4m3fn, 448), (torch.float8_e5m2, 57344)])
def test_products_of_eight_bits_stop_at_the_largest_number(dtype: torch.dtype, most: float) -> None:
    x = torch.full((16, 32), 448.0, device="cuda").to(torch.float8_e4m3fn)
    one = torch.ones((), device="cuda")
    result = torch._scaled_mm(x, x.t(), one, one, out_dtype=dtype)
    assert result.float().abs().unique().tolist() == [most]
    out = torch.empty(0, device="cuda", dtype=dtype)
    assert torch._scaled_mm(x, x.t(), one, one, out_dtype=dtype, out=out) is out
    assert torch.equal(out.float(), result.float())


UNSIGNED = [torch.uint16, torch.uint32, torch.uint64]
EIGHT_BITS = [torch.float8_e4m3fn, torch.float8_e5m2]
WITHOUT_UNSIGNED: dict[str, tuple[Callable[[torch.Tensor], object], str]] = {
    "mul": (lambda x: x * x, "mul_cuda"),
    "mul_": (lambda x: x.mul_(2), "mul_cuda"),
    "and": (lambda x: x & x, "bitwise_and_cuda"),
    "xor": (lambda x: x ^ 1, "bitwise_xor_cuda"),
    "any": (lambda x: x.any(), "or_cuda"),
    "sort": (lambda x: x.sort(), "sortKeyValueInplace"),
    "index": (lambda x: x[torch.tensor([0], device="cuda")], "index_cuda"),
}


@pytest.mark.parametrize("dtype", UNSIGNED)
@pytest.mark.parametrize("which", WITHOUT_UNSIGNED)
def test_wide_unsigned_integers_are_refused(which: str, dtype: torch.dtype) -> None:
    function, kernel = WITHOUT_UNSIGNED[which]
    with pytest.raises(NotImplementedError, match=f'"{kernel}" not implemented'):
        function(torch.tensor([1, 3, 2], device="cuda").to(dtype))


@pytest.mark.parametrize("dtype", EIGHT_BITS)
def test_eight_bits_have_no_absolute_value(dtype: torch.dtype) -> None:
    x = torch.tensor([1.0, 3, 2], device="cuda").to(dtype)
    for call, kernel in ((x.abs, "abs_cuda"), (x.any, "or_cuda")):
        with pytest.raises(NotImplementedError, match=f'"{kernel}" not implemented'):
            call()


@pytest.mark.parametrize("dtype", UNSIGNED + EIGHT_BITS)
def test_bits_are_moved_whatever_they_mean(dtype: torch.dtype) -> None:
    x = torch.tensor([1, 3, 2], device="cuda").to(dtype)
    assert x.flip(0).float().tolist() == [2, 3, 1]
    assert x.gather(0, torch.tensor([1], device="cuda")).float().tolist() == [3]
    assert (x.float() * 1.5).tolist() == [1.5, 4.5, 3]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves_are_drawn(dtype: torch.dtype) -> None:
    ones = torch.ones(2, 2, device="cuda", dtype=dtype)
    for draw in (lambda: torch.binomial(ones, ones), lambda: torch._standard_gamma(ones)):
        assert draw().dtype is dtype
    assert torch._sample_dirichlet(ones).sum(1).sub(1).abs().max().item() < 0.02


def test_a_permutation_has_no_bfloat16() -> None:
    assert torch.randperm(3, dtype=torch.float16, device="cuda").sum().item() == 3
    with pytest.raises(NotImplementedError, match='"randperm_out_cuda" not implemented for .BFloat16'):
        torch.randperm(3, dtype=torch.bfloat16, device="cuda")


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_recurrent_network_under_autocast_is_of_float16(kind: str, dtype: torch.dtype) -> None:
    network = getattr(torch.nn, kind)(3, 4).cuda()
    with torch.autocast("cuda", dtype):
        result, _ = network(torch.rand(5, 2, 3, device="cuda"))
    assert result.dtype is torch.float16
    result.float().sum().backward()
    assert network.weight_ih_l0.grad.dtype is torch.float32


def test_running_statistics_are_of_any_type() -> None:
    x = torch.randn(8, 3, device="cuda")
    mean, variance = torch.zeros(3, device="cuda"), torch.ones(3, device="cuda")
    halves = mean.half(), variance.half()
    expected = torch.nn.functional.batch_norm(x, mean, variance, training=True)
    assert torch.equal(torch.nn.functional.batch_norm(x, *halves, training=True), expected)
    torch.testing.assert_close(halves[0], mean.half(), atol=1e-3, rtol=1e-2)
    torch.testing.assert_close(halves[1], variance.half(), atol=1e-3, rtol=1e-2)
    half = x.half().requires_grad_()
    result = torch.nn.functional.batch_norm(half, halves[0], variance)
    result.sum().backward()
    assert result.dtype is half.grad.dtype is torch.float16


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_what_lies_before_the_first_bag_is_in_none(mode: str) -> None:
    weight = torch.rand(3, 2, device="cuda", requires_grad=True)
    places, first = torch.tensor([0, 1, 2], device="cuda"), torch.tensor([1], device="cuda")
    bags = torch.nn.functional.embedding_bag
    assert torch.equal(bags(places, weight, first, mode=mode), bags(places[1:], weight, first - 1, mode=mode))

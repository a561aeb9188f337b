"""Types that CUDA computes and the CPU's kernels refuse: the type of the result is CUDA's."""

from __future__ import annotations

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

"""Products of halves: cuBLAS and cuDNN sum them in float32, whether the host has instructions or not."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

LAYOUTS = ["rows", "columns"]


def made(layout: str, *sizes: int) -> Tensor:
    """Return a half tensor of random numbers, with its last dimension or the one before dense in memory."""
    if layout == "rows":
        return torch.randn(sizes).half()
    return torch.randn(*sizes[:-2], sizes[-1], sizes[-2]).half().transpose(-2, -1)


def assert_rounded_once(computed: Tensor, exact: Tensor) -> None:
    """Raise if a half tensor is further from the exact numbers than their sums in float32, rounded."""
    assert computed.dtype == torch.half
    error = (computed.cpu().double() - exact).abs()
    assert (error <= exact.abs() * 2**-11 + 1e-5 * exact.abs().max()).all(), error.max()


@pytest.mark.parametrize("rows", [1, 4, 33])
@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("right", LAYOUTS)
@pytest.mark.parametrize("batch", [(), (3,)])
def test_products_and_sums(rows, left, right, batch):
    first, second = made(left, *batch, rows, 128), made(right, *batch, 128, 96)
    added = torch.randn(*batch, rows, 96).half()
    exact, extra = first.double() @ second.double(), added.double()
    first, second, added = first.cuda(), second.cuda(), added.cuda()
    total = torch.baddbmm if batch else torch.addmm
    assert_rounded_once(first @ second, exact)
    assert_rounded_once((torch.bmm if batch else torch.mm)(first, second, out=torch.empty_like(added)), exact)
    assert_rounded_once(total(added, first, second, beta=0.5, alpha=2), extra / 2 + 2 * exact)
    assert_rounded_once(total(added, first, second, out=torch.empty_like(added)), extra + exact)
    in_place = added.clone()
    (in_place.baddbmm_ if batch else in_place.addmm_)(first, second)
    assert_rounded_once(in_place, extra + exact)


def test_sum_with_a_row_and_errors():
    first, second, row = torch.randn(8, 64).half(), torch.randn(64, 64).half(), torch.randn(64).half()
    exact = row.double() + first.double() @ second.double()
    assert_rounded_once(torch.addmm(row.cuda(), first.cuda(), second.cuda()), exact)
    with pytest.raises(RuntimeError, match=r"cannot be multiplied \(8x64 and 63x64\)"):
        first.cuda() @ second[1:].cuda()
    with pytest.raises(RuntimeError, match="dtype"):
        first.cuda() @ second.cuda().float()


@pytest.mark.parametrize("convolve", [functional.conv2d, functional.conv_transpose2d])
@pytest.mark.parametrize("groups", [1, 4])
def test_convolutions_and_their_gradients(convolve, groups):
    given = [torch.randn(2, 16, 12, 12), torch.randn(16, 16 // groups, 3, 3), torch.randn(16)]
    halves = [each.half().cuda().requires_grad_() for each in given]
    exact = [each.half().double().requires_grad_() for each in given]
    result = convolve(*halves, groups=groups, padding=1)
    wanted = convolve(*exact, groups=groups, padding=1)
    assert_rounded_once(result.detach(), wanted.detach())
    upstream = torch.randn(wanted.shape).half()
    result.backward(upstream.cuda())
    wanted.backward(upstream.double())
    for half, reference in zip(halves, exact, strict=True):
        assert_rounded_once(half.grad, reference.grad)


def test_gradients_of_attention():
    given = [torch.randn(2, 4, 64, 32).half() for _ in range(3)]
    halves = [each.cuda().requires_grad_() for each in given]
    exact = [each.double().requires_grad_() for each in given]
    for of_type in (halves, exact):
        functional.scaled_dot_product_attention(*of_type).sum().backward()
    for half, reference in zip(halves, exact, strict=True):
        torch.testing.assert_close(half.grad.cpu().double(), reference.grad, rtol=4e-3, atol=4e-3)

"""Products of sparse and dense matrices, as used by graph networks, on every backend."""

from __future__ import annotations

import pytest
import torch

from tests.platforms import EVERYWHERE

pytestmark = pytest.mark.platforms(*EVERYWHERE)
PRODUCTS = {
    "spmm": lambda a, x: torch.spmm(a, x),
    "mm": lambda a, x: torch.mm(a, x),
    "matmul": lambda a, x: a @ x,
    "sparse.mm": lambda a, x: torch.sparse.mm(a, x),
    "sparse.addmm": lambda a, x: torch.sparse.addmm(torch.ones(3, 4).to(x.device), a, x, beta=2, alpha=3),
    "addmm": lambda a, x: torch.addmm(torch.ones(3, 4).to(x.device), a, x),
}


def sparse() -> torch.Tensor:
    """Returns a matrix of three rows with an empty row and a duplicate entry."""
    indices = torch.tensor([[0, 0, 2, 2], [1, 4, 0, 0]])
    return torch.sparse_coo_tensor(indices, torch.tensor([1.0, 2.0, 3.0, 4.0]), (3, 5), check_invariants=True)


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_product_and_its_gradient_are_the_hosts(product: str) -> None:
    host = torch.arange(20.0).reshape(5, 4).requires_grad_()
    moved = host.detach().cuda().requires_grad_()
    expected = PRODUCTS[product](sparse(), host)
    result = PRODUCTS[product](sparse().cuda(), moved)
    assert result.is_cuda
    assert torch.allclose(result.cpu(), expected)
    weights = torch.arange(12.0).reshape(3, 4)
    (expected * weights).sum().backward()
    (result * weights.cuda()).sum().backward()
    assert torch.allclose(moved.grad.cpu(), host.grad)


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(RuntimeError):
        torch.spmm(sparse().cuda(), torch.ones(4, 4, device="cuda"))


def test_nothing_that_is_overwritten_is_read() -> None:
    nans = torch.full((3, 4), torch.nan, device="cuda")
    result = torch.sparse.addmm(nans, sparse().cuda(), torch.ones(5, 4, device="cuda"), beta=0)
    assert not result.isnan().any()


@pytest.mark.platforms("npu")
def test_a_sparse_matrixs_own_gradient_is_refused() -> None:
    matrix = sparse().cuda().requires_grad_()
    with pytest.raises(NotImplementedError, match="gradient of a sparse matrix does not exist on 'npu'"):
        (matrix @ torch.ones(5, 4, device="cuda")).sum().backward()

"""Factorizations as CUDA's libraries offer them: without pivots, and by a driver."""

import pytest
import torch


@pytest.mark.parametrize("sizes", [(5, 5), (2, 4, 3), (2, 3, 4), (0, 0)])
def test_a_matrix_is_factored_without_pivots(sizes: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    matrices = (torch.rand(sizes, dtype=torch.double) + 3 * torch.eye(*sizes[-2:])).cuda()
    _, lower, upper = torch.linalg.lu(matrices, pivot=False)
    torch.testing.assert_close(lower @ upper, matrices)
    lu, pivots, info = torch.linalg.lu_factor_ex(matrices, pivot=False)
    assert torch.equal(lu.triu()[..., : min(sizes[-2:]), :], upper)
    assert torch.equal(lu.tril(-1)[..., : min(sizes[-2:])], lower.tril(-1))
    assert pivots.shape == sizes[:-2] + (min(sizes[-2:]),)
    assert not info.any()


def test_a_zero_on_the_diagonal_is_told() -> None:
    matrix = torch.tensor([[1.0, 2], [1, 2]], device="cuda")
    assert torch.linalg.lu_factor_ex(matrix, pivot=False).info == 2
    with pytest.raises(RuntimeError, match=r"U\[2,2\] is zero"):
        torch.linalg.lu_factor_ex(matrix, pivot=False, check_errors=True)


def test_singular_values_by_each_driver() -> None:
    matrix = torch.arange(6.0, device="cuda").reshape(2, 3)
    for driver in ("gesvd", "gesvdj", "gesvda"):
        assert torch.equal(torch.linalg.svdvals(matrix, driver=driver), torch.linalg.svdvals(matrix))
    with pytest.raises(RuntimeError, match="unknown svd driver gesdd"):
        torch.linalg.svd(matrix, driver="gesdd")


def test_factors_without_pivots_are_written_to_what_is_given() -> None:
    matrix = torch.randn(3, 3, device="cuda", dtype=torch.double)
    given = torch.empty_like(matrix), torch.empty(3, dtype=torch.int32, device="cuda")
    torch.linalg.lu_factor(matrix, pivot=False, out=given)
    torch.testing.assert_close(given, tuple(torch.linalg.lu_factor(matrix, pivot=False)))


@pytest.mark.parametrize("sizes", [(3, 3), (2, 3), (4, 2), (2, 3, 3)])
def test_a_matrix_of_lower_rank_has_a_solution_of_some_numbers(sizes: tuple[int, ...]) -> None:
    matrix, right = torch.ones(sizes, device="cuda").triu(), torch.ones(sizes[:-1] + (2,), device="cuda")
    matrix.diagonal(0, -2, -1)[..., 1:] = matrix[..., 1:, :] = 0
    found = torch.linalg.lstsq(matrix, right)
    assert found.solution.shape == sizes[:-2] + (sizes[-1], 2)
    assert not found.solution.isfinite().all()
    assert (found.rank.shape, found.rank.dtype) == ((0,), torch.int64)


def test_a_singular_factor_has_an_inverse_of_no_numbers() -> None:
    factors = torch.eye(3, device="cuda").repeat(2, 1, 1)
    factors[1, 1, 1] = 0
    inverse = torch.cholesky_inverse(factors)
    assert torch.equal(inverse[0], torch.eye(3, device="cuda"))
    assert not inverse[1].isfinite().all()

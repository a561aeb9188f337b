"""Sparse tensors of the device: CUDA's structure, values and errors."""

import pytest
import torch
from torch.testing import assert_close

from tests.software.cuda.deprecation import ignoring_deprecation

CUDA = "cuda"


@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_csc])
@ignoring_deprecation
def test_compressed_sparse_tensors_compute(layout):
    host, dense = (torch.eye(3) * 2).to_sparse(layout=layout), torch.randn(3, 2)
    there = host.cuda()
    for operator in (
        lambda s, d: s @ d,
        lambda s, d: torch.addmm(torch.ones(3, 2, device=d.device), s, d),
        lambda s, d: (s * 2).to_dense(),
        lambda s, d: (s + s).to_dense(),
    ):
        assert_close(operator(there, dense.cuda()).cpu(), operator(host, dense))
    assert there.to("cuda:1").values().device.index == 1
    assert torch.eye(3).to_sparse().cuda().to("cuda:1").indices().device.index == 1


def coordinates(*values, dtype=None):
    places = [[0, 2], [1, 0]]
    return torch.sparse_coo_tensor(places, values, (3, 3), dtype=dtype, device=CUDA, is_coalesced=True)


@ignoring_deprecation
def test_a_sum_has_the_elements_of_both_and_is_not_coalesced():
    total = coordinates(1.0, 2.0) + coordinates(3.0, 4.0)
    assert (total._nnz(), total.is_coalesced()) == (4, False)
    assert_close(total.coalesce().values().cpu(), torch.tensor([4.0, 6.0]))
    with pytest.raises(RuntimeError, match="Cannot get indices on an uncoalesced tensor"):
        total.indices()


@ignoring_deprecation
def test_sums_are_refused_in_cudas_words():
    sparse, dense = coordinates(1.0, 2.0), torch.eye(3, device=CUDA)
    with pytest.raises(RuntimeError, match=r"add\(sparse, dense\) is not supported"):
        sparse + dense
    with pytest.raises(RuntimeError, match="add: expected 'other' to be CUDA, but got CPU"):
        sparse + sparse.cpu()
    with pytest.raises(RuntimeError, match="add: expected 'other' to be a CUDA tensor, but got a CPU tensor"):
        dense + sparse.cpu()


@ignoring_deprecation
def test_elements_of_one_place_are_summed_in_float32():
    place = torch.zeros(1, 4096, dtype=torch.int64)
    ones = torch.sparse_coo_tensor(place, torch.ones(4096).bfloat16(), (1,), device=CUDA)
    assert ones.coalesce().values().item() == 4096


@ignoring_deprecation
def test_products_of_truths():
    product = coordinates(True, True) * coordinates(True, False)
    assert product.to_dense().cpu().nonzero().tolist() == [[0, 1]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@ignoring_deprecation
def test_products_of_halves(dtype):
    dense = torch.arange(9.0, device=CUDA).view(3, 3).to(dtype)
    for sparse in (coordinates(1.0, 2.0, dtype=dtype), coordinates(1.0, 2.0, dtype=dtype).to_sparse_csr()):
        assert_close(torch.sparse.mm(sparse, sparse).to_dense(), sparse.to_dense() @ sparse.to_dense())
    assert_close(sparse @ dense, sparse.to_dense() @ dense)
    assert_close(sparse @ dense[0], sparse.to_dense() @ dense[0])
    blocks = torch.eye(4, device=CUDA).to(dtype).to_sparse_bsr((2, 2))
    dense = torch.arange(16.0, device=CUDA).view(4, 4).to(dtype)
    assert_close(torch.addmm(dense, blocks, dense, beta=2, alpha=3), dense * 5)


@ignoring_deprecation
def test_batches_of_compressed_matrices_multiply():
    matrices = torch.stack([torch.eye(3), torch.eye(3)[[1, 2, 0]]]).cuda()
    dense = torch.randn(2, 3, 4, device=CUDA)
    assert_close(torch.bmm(matrices.to_sparse_csr(), dense), torch.bmm(matrices, dense))


@ignoring_deprecation
def test_compressed_results_have_their_own_structure():
    one, other = torch.eye(3, device=CUDA).to_sparse_csr(), torch.ones(3, 3, device=CUDA).to_sparse_csr()
    out = torch.zeros(3, 3, device=CUDA).to_sparse_csr()
    torch.add(one, other, alpha=2, out=out)
    assert_close(out.to_dense().cpu(), torch.eye(3) + 2)
    assert_close(torch.mm(one, other).to_dense(), other.to_dense())


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("ones", [True, False])
@ignoring_deprecation
def test_triangles_of_blocks_are_solved(upper, ones):
    square = torch.randn(4, 4, dtype=torch.float64, device=CUDA) + 4 * torch.eye(4, device=CUDA)
    right = torch.randn(4, 2, dtype=torch.float64, device=CUDA)
    options = {"upper": upper, "unitriangular": ones}
    solution = torch.triangular_solve(right, square.to_sparse_bsr((2, 2)), **options).solution
    assert_close(solution, torch.linalg.solve_triangular(square, right, **options))


@ignoring_deprecation
def test_a_sparse_system_asks_for_cudss():
    with pytest.raises(RuntimeError, match="requires compiling PyTorch with CUDA cuDSS"):
        torch.sparse.spsolve(torch.eye(3, device=CUDA).to_sparse_csr(), torch.ones(3, device=CUDA))


@ignoring_deprecation
def test_what_is_created_alike_is_where_it_is_asked_for():
    compressed = torch.eye(3, device=CUDA).to_sparse_csr()
    for create in (torch.empty_like, torch.zeros_like, torch.ones_like, torch.randn_like):
        assert create(compressed, device="cpu").device.type == "cpu"
    with pytest.raises(NotImplementedError, match="'aten::empty_strided' .* 'SparseCUDA' backend"):
        torch.empty_like(torch.eye(3, device=CUDA), layout=torch.sparse_coo)


@ignoring_deprecation
def test_the_order_of_indices_is_checked():
    with pytest.raises(RuntimeError, match="duplicate indices|is_coalesced"):
        torch.sparse_coo_tensor(
            [[1, 1]], [1.0, 2.0], (3,), device=CUDA, check_invariants=True, is_coalesced=True
        )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int32])
@ignoring_deprecation
def test_coordinates_of_halves_are_not_multiplied(dtype):
    with pytest.raises(NotImplementedError, match='"addmm_sparse_cuda" not implemented'):
        coordinates(1, 2, dtype=dtype) @ torch.ones(3, 2, device=CUDA).to(dtype)


@pytest.mark.parametrize(
    ("layout", "dtype", "words"),
    [
        (torch.sparse_csr, torch.half, "operation not supported when calling `cusparseSpMM_bufferSize"),
        (torch.sparse_bsr, torch.half, "arguments expected to have the same dtype"),
        (torch.sparse_bsc, torch.float, "computation on CUDA is not implemented for Strided . SparseBsc"),
    ],
)
@ignoring_deprecation
def test_products_that_cusparse_lacks(layout, dtype, words):
    blocks = {"blocksize": (2, 2)} if layout in (torch.sparse_bsr, torch.sparse_bsc) else {}
    sparse = torch.eye(4, device=CUDA).to_sparse(layout=layout, **blocks)
    with pytest.raises(RuntimeError, match=words):
        sparse @ torch.ones(4, 2, device=CUDA, dtype=dtype)

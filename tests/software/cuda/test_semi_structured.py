"""Matrices of which two in four values are kept, and products with weights in the layouts of CUTLASS."""

import pytest
import torch
import torch.nn.functional as F
from torch.quantization import _quantized_conversions as quantized
from torch.sparse import _semi_structured_conversions as conversions
from torch.testing import assert_close

from tests.software.cuda.capturing import captured
from tests.software.cuda.deprecation import ignoring_deprecation

CUDA = "cuda"
HALVES = [torch.float16, torch.bfloat16]
DTYPES = [*HALVES, torch.float32, torch.int8]


def sparse(rows: int, columns: int, dtype: torch.dtype) -> torch.Tensor:
    """Return a matrix of the host with two values in four, of float32 one in two."""
    group = 2 if dtype == torch.float32 else 4
    kept = torch.rand(rows, columns // group, group).argsort(-1) < group // 2
    return (drawn(rows, columns, dtype=dtype).abs() + 1) * kept.reshape(rows, columns)


def drawn(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    if dtype.is_floating_point:
        return torch.randn(*shape).to(dtype)
    return torch.randint(-4, 4, shape).to(dtype)


def on_device(matrix: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    values, metadata = torch.ops.aten._to_sparse_semi_structured(matrix.cuda())
    return values, metadata


def close_in(dtype: torch.dtype, actual: torch.Tensor, expected: torch.Tensor) -> None:
    assert actual.dtype == dtype
    step = torch.finfo(dtype).eps if dtype.is_floating_point else 0.0
    assert_close(actual.cpu().double(), expected.to(dtype).double(), rtol=step, atol=1e-3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_matrices_are_compressed_as_torch_says(dtype: torch.dtype) -> None:
    matrix = sparse(64, 256, dtype)
    values, metadata = (each.cpu() for each in on_device(matrix))
    assert_close(
        (values, metadata), conversions.sparse_semi_structured_from_dense_cutlass(matrix), rtol=0, atol=0
    )


def test_denser_matrices_are_refused() -> None:
    for dtype, pattern in ((torch.float16, "2:4"), (torch.float32, "1:2")):
        with pytest.raises(RuntimeError, match=f"does not match {pattern}"):
            on_device(torch.ones(32, 64, dtype=dtype))
    with pytest.raises(RuntimeError, match="Number of rows of dense matrix must be divisible by 32"):
        on_device(torch.ones(16, 64).half())


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_are_those_of_the_matrix(dtype: torch.dtype) -> None:
    matrix, other = sparse(64, 128, dtype), drawn(32, 128, dtype=dtype).T
    wide = torch.int32 if dtype == torch.int8 else dtype
    plain = matrix.double() @ other.double()
    operands = *on_device(matrix), other.cuda()
    close_in(wide, torch._sparse_semi_structured_mm(*operands, out_dtype=wide), plain)
    vector = drawn(64, dtype=wide)
    total = torch._sparse_semi_structured_addmm(vector.cuda(), *operands, alpha=2, beta=-3, out_dtype=wide)
    close_in(wide, total, 2 * plain - 3 * vector.double()[:, None])


def test_bytes_are_saturated() -> None:
    matrix = sparse(64, 128, torch.int8)
    values, metadata = on_device(matrix)
    other = drawn(32, 128, dtype=torch.int8).T
    product = torch._sparse_semi_structured_mm(values, metadata, other.cuda())
    plain = matrix.double() @ other.double()
    assert plain.abs().max() > 127
    close_in(torch.int8, product, plain.clamp(-128, 127))


def test_operands_are_refused_in_cudas_words() -> None:
    values, metadata = on_device(sparse(64, 128, torch.int8))
    rows = torch.ones(128, 32, dtype=torch.int8, device=CUDA)
    with pytest.raises(RuntimeError, match="spgemm_cutlass_dispatch_layouts.*row-major and row-major"):
        torch._sparse_semi_structured_mm(values, metadata, rows)
    with pytest.raises(RuntimeError, match="Expected mat1 datatype .*Half, but got signed char"):
        torch._sparse_semi_structured_mm(values, metadata, rows.half())
    with pytest.raises(RuntimeError, match="Expected mat1 argument to have 32 columns, but got 64"):
        torch._sparse_semi_structured_mm(values, metadata, rows[:64].T.contiguous().T)
    with pytest.raises(RuntimeError, match="Expected meta datatype Int, but got Short"):
        torch._sparse_semi_structured_mm(values, metadata.short(), rows.T.contiguous().T)
    for fewer in (metadata[:32], metadata[:1].expand_as(metadata)):
        with pytest.raises(RuntimeError, match="metadata for them"):
            torch._sparse_semi_structured_mm(values, fewer, rows.T.contiguous().T)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("activation", [None, "relu", "silu"])
@ignoring_deprecation
def test_layers_add_a_bias_and_activate(dtype: torch.dtype, activation: str | None) -> None:
    weight, x = sparse(64, 128, dtype), drawn(2, 3, 128, dtype=dtype)
    wide = torch.int32 if dtype == torch.int8 else None
    bias = drawn(64, dtype=wide or dtype)

    def layer() -> torch.Tensor:
        return torch._sparse_semi_structured_linear(
            x.cuda(), *on_device(weight), bias=bias.cuda(), activation=activation, out_dtype=wide
        )

    if wide and activation == "silu":
        with pytest.raises(RuntimeError, match='Activation "silu" is not supported'):
            layer()
        return
    plain = F.linear(x.double(), weight.double(), bias.double())
    close_in(wide or dtype, layer(), getattr(F, activation)(plain) if activation else plain)


def restored(values: torch.Tensor, metadata: torch.Tensor) -> torch.Tensor:
    """Return the matrix, of which torch's own conversion loses the only one of four values."""
    ones = torch.eye(values.shape[1] * 2, dtype=values.dtype, device=CUDA)
    return torch._sparse_semi_structured_mm(values, metadata, ones).cpu()


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("algorithm", ["", "largest_values_greedy", "largest_abs_values_greedy"])
def test_tiles_keep_their_largest_values(dtype: torch.dtype, algorithm: str) -> None:
    tiles = torch.stack([torch.randperm(16) + 1 for _ in range(8 * 32)]) * torch.randn(8 * 32, 16).sign()
    matrix = tiles.view(8, 32, 4, 4).transpose(1, 2).reshape(32, 128).to(dtype)
    values, metadata, turned, turned_metadata, masks = torch._sparse_semi_structured_tile(
        matrix.cuda(), algorithm
    )
    ranks = matrix.abs() if "abs" in algorithm else matrix + 17
    kept = conversions._sparse_semi_structured_tile(ranks) != 0
    assert_close(masks, conversions._compute_compressed_swizzled_bitmask(kept.cuda()).view_as(masks))
    assert_close(restored(values, metadata), matrix * kept)
    assert_close(restored(turned, turned_metadata)[:, :32], (matrix * kept).T)


def test_rows_do_not_depend_on_those_below() -> None:
    matrix = torch.randn(64, 64).half()
    kept = restored(*torch._sparse_semi_structured_tile(matrix.cuda(), "causal1122")[:2]).ne(0)
    assert kept.view(16, 4, 16, 4).sum(3).amax((0, 2)).tolist() == [1, 1, 2, 2]
    assert kept.view(16, 4, 16, 4).sum(1).max() == 2
    with pytest.raises(RuntimeError, match='Unknown algorithm "causal"'):
        torch._sparse_semi_structured_tile(matrix.cuda(), "causal")


@pytest.mark.parametrize("dtype", HALVES)
def test_a_pattern_is_applied_to_other_values(dtype: torch.dtype) -> None:
    first, second = torch.randn(2, 64, 128).to(dtype).cuda()
    values, metadata, turned, turned_metadata, masks = torch._sparse_semi_structured_tile(first)
    assert_close(torch._sparse_semi_structured_apply(first, masks), (values, turned), rtol=0, atol=0)
    kept = restored(values, metadata).ne(0)
    own, other = torch._sparse_semi_structured_apply(second, masks)
    assert_close(restored(own, metadata), second.cpu() * kept)
    assert_close(restored(other, turned_metadata), (second.cpu() * kept).T)
    for matrix in (second, second.T.contiguous().T):
        dense = torch._sparse_semi_structured_apply_dense(matrix, masks)
        assert dense.is_contiguous()
        assert_close(dense.cpu(), second.cpu() * kept)
    with pytest.raises(RuntimeError, match="expected masks as _sparse_semi_structured_tile returns them"):
        torch._sparse_semi_structured_apply(second, masks.transpose(0, 1))


def test_what_lies_beyond_the_matrix_is_not_kept_of_it() -> None:
    matrix = torch.randn(36, 96).bfloat16()
    values, metadata, turned, _, masks = torch._sparse_semi_structured_tile(matrix.cuda())
    assert (values.shape, turned.shape, masks.shape) == ((64, 64), (96, 32), (8, 16, 8))
    kept = restored(values, metadata)[:36, :96]
    assert_close(torch._sparse_semi_structured_apply_dense(matrix.cuda(), masks).cpu(), kept)
    own, other = torch._sparse_semi_structured_apply(matrix.cuda(), masks)
    assert_close(own[:36].cpu()[:, :48], values[:36].cpu()[:, :48])
    assert other.shape == (128, 32)


@ignoring_deprecation
def test_a_graph_chooses_anew_in_each_replay() -> None:
    matrix, other = torch.randn(64, 64).half().cuda(), torch.randn(64, 64).half().cuda()

    def work() -> tuple[torch.Tensor, ...]:
        values, metadata, *_, masks = torch._sparse_semi_structured_tile(matrix)
        product = torch._sparse_semi_structured_mm(values, metadata, other)
        layer = torch._sparse_semi_structured_linear(other.view(2, 32, 64), values, metadata)
        return product, layer, torch._sparse_semi_structured_apply_dense(other, masks)

    graph, results = captured(work)
    matrix.copy_(torch.randn(64, 64))
    graph.replay()
    assert_close(results, work())


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("bits", [torch.int8, torch.quint4x2])
@pytest.mark.parametrize("activation", [None, "relu", "silu"])
def test_weights_of_fewer_bits_are_multiplied(
    dtype: torch.dtype, bits: torch.dtype, activation: str | None
) -> None:
    most = 128 if bits == torch.int8 else 8
    weight, x = torch.randint(-most, most, (64, 192), dtype=torch.int8), drawn(2, 3, 192, dtype=dtype)
    scale, bias = torch.rand(64).to(dtype), drawn(64, dtype=dtype)
    packed = weight if bits == torch.int8 else quantized.pack_int4_to_int8(weight)
    laid = quantized.quantized_weight_reorder_for_mixed_dtypes_linear_cutlass(
        packed.cuda(), bits, transpose=True
    )
    result = torch.ops.aten._mixed_dtypes_linear(
        x.cuda(), laid, scale.cuda(), bias=bias.cuda(), activation=activation
    )
    plain = F.linear(x.double(), (weight.to(dtype) * scale[:, None]).double(), bias.double())
    close_in(dtype, result, getattr(F, activation)(plain) if activation else plain)


def test_only_what_has_a_bias_is_activated() -> None:
    x, scale = torch.ones(2, 64, device=CUDA).half(), torch.ones(64, device=CUDA).half()
    laid = torch.full((64, 64), 129, dtype=torch.uint8, device=CUDA)
    assert torch.ops.aten._mixed_dtypes_linear(x, laid, scale).eq(64).all()
    with pytest.raises(RuntimeError, match='Activation "relu" is not supported'):
        torch.ops.aten._mixed_dtypes_linear(x, laid, scale, activation="relu")


@pytest.mark.parametrize("dtype", [*HALVES, torch.int8])
def test_a_matrix_compressed_to_one_tensor_is_multiplied(dtype: torch.dtype) -> None:
    matrix, dense = sparse(32, 64, dtype), drawn(64, 16, dtype=dtype)
    compressed = torch._cslt_compress(matrix.cuda())
    assert compressed.shape == (32 * 64 * (10 if dtype == torch.int8 else 9) // 16,)
    bias, factors = torch.rand(32).to(dtype), torch.rand(32)
    expected = matrix.double() @ dense.double()
    assert_products(dtype, torch._cslt_sparse_mm(compressed, dense.cuda()), expected)
    turned = torch._cslt_sparse_mm(compressed, dense.cuda(), transpose_result=True)
    assert_products(dtype, turned, expected.T)
    scaled = torch._cslt_sparse_mm(compressed, dense.cuda(), bias=bias.cuda(), alpha=factors.cuda())
    assert_products(dtype, scaled, expected * factors[:, None] + bias.double()[:, None])
    assert torch._cslt_sparse_mm_search(compressed, dense.cuda()) == 0


def test_a_graph_multiplies_what_it_compresses() -> None:
    matrix, dense = sparse(32, 64, torch.float16), drawn(64, 16, dtype=torch.float16).cuda()
    given = matrix.cuda()

    def work() -> torch.Tensor:
        return torch._cslt_sparse_mm(torch._cslt_compress(given), dense)

    graph, product = captured(work)
    given.copy_(-given)
    graph.replay()
    close_in(torch.float16, product, -matrix.double() @ dense.cpu().double())


def assert_products(dtype: torch.dtype, actual: torch.Tensor, expected: torch.Tensor) -> None:
    if dtype == torch.int8:
        assert (actual.cpu() - expected.clamp(-128, 127)).abs().max() <= 0.51
    else:
        close_in(dtype, actual, expected)


def test_bytes_are_multiplied_to_wider_types() -> None:
    matrix, dense = sparse(32, 64, torch.int8), drawn(64, 32, dtype=torch.int8)
    compressed = torch._cslt_compress(matrix.cuda())
    for dtype in (torch.int32, *HALVES):
        product = torch._cslt_sparse_mm(compressed, dense.cuda(), out_dtype=dtype)
        close_in(dtype, product, matrix.double() @ dense.double())
    with pytest.raises(RuntimeError, match="must be one of {fp16, bf16, int32} for int8 inputs"):
        torch._cslt_sparse_mm(compressed, dense.cuda(), out_dtype=torch.float32)
    halves = torch._cslt_compress(matrix.half().cuda())
    with pytest.raises(RuntimeError, match="out_dtype support only available for int8/fp8"):
        torch._cslt_sparse_mm(halves, dense.half().cuda(), out_dtype=torch.float16)


@ignoring_deprecation
def test_a_layer_is_made_sparse_by_torchs_default() -> None:
    layer = torch.nn.Linear(128, 64).half()
    layer.weight.data = sparse(64, 128, torch.float16)
    given = drawn(32, 128, dtype=torch.float16)
    expected = F.linear(given.double(), layer.weight.double(), layer.bias.double())
    layer = layer.cuda().requires_grad_(False)
    weight = torch.sparse.to_sparse_semi_structured(layer.weight)
    layer.weight = torch.nn.Parameter(weight, requires_grad=False)
    close_in(torch.float16, layer(given.cuda()), expected)

"""Attention and its gradients with every bias, against float64 with the full score matrix."""

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.flash_attn.reference import attention, check, distance, tensors
from tests.later import Later, later
from tests.xformers.reference import packed_biases, plain_biases

of = Later("xformers.ops.fmha.attn_bias")
Call, forward = later("xformers._morph.attention", "Call", "forward")
memory_efficient_attention = Later("xformers.ops", "memory_efficient_attention")
LowerTriangularMask = Later("xformers.ops.fmha.attn_bias", "LowerTriangularMask")


DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def check_bias(inputs: list[Tensor], bias: Any, mask: Tensor | None, matrix: Tensor | None = None) -> None:
    """Compares the output and gradients, also of a matrix that is added to the scores, with float64."""

    def actual(q: Tensor, k: Tensor, v: Tensor, *_: Tensor) -> Any:
        return memory_efficient_attention(q, k, v, bias)

    def expected(q: Tensor, k: Tensor, v: Tensor, *added: Tensor, dtype: torch.dtype) -> Tensor:
        masks = [*added, *([] if mask is None else [mask.to(dtype)])]
        return attention(q, k, v, dtype=dtype, mask=sum(masks) if masks else None)[0]

    check(actual, expected, [*inputs, *([] if matrix is None else [matrix])], type(bias).__name__)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sequences_of_one_length(dtype):
    for queries, keys, size in ((9, 9, 16), (5, 12, 8), (12, 5, 24)):
        for bias, mask in plain_biases(queries, keys):
            shapes = (2, queries, 3, size), (2, keys, 3, size), (2, keys, 3, size)
            check_bias(tensors(0, *shapes, dtype=dtype), bias, mask)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_matrices(dtype):
    *inputs, matrix = tensors(2, (2, 7, 3, 8), *[(2, 9, 3, 8)] * 2, (2, 3, 7, 9), dtype=dtype)
    check_bias(inputs, matrix, None, matrix)
    mask = torch.full((7, 9), -torch.inf, dtype=torch.float64).triu(1)
    check_bias(inputs, LowerTriangularMask().add_bias(matrix), mask, matrix)


def test_a_matrix_that_hides_all_keys_of_a_query():
    *inputs, matrix = tensors(2, (1, 4, 2, 8), *[(1, 5, 2, 8)] * 2, (1, 2, 4, 5), dtype=torch.float32)
    matrix.data[:, :, 1] = -torch.inf
    out = memory_efficient_attention(*inputs, matrix)
    grads = torch.autograd.grad(out.sum(), [*inputs, matrix])
    assert not out[:, 1].any()
    assert all(each.isfinite().all() for each in grads)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sequences_of_different_lengths(dtype):
    for bias, queries, keys, mask in packed_biases():
        shapes = (1, queries, 2, 16), (1, keys, 2, 16), (1, keys, 2, 16)
        check_bias(tensors(3, *shapes, dtype=dtype), bias, mask)


def test_caches_with_padding_and_pages():
    paged = {
        of.BlockDiagonalPaddedKeysMask: of.PagedBlockDiagonalPaddedKeysMask,
        of.BlockDiagonalCausalWithOffsetPaddedKeysMask: of.PagedBlockDiagonalCausalWithOffsetPaddedKeysMask,
    }
    table = torch.tensor([[3, 0], [5, 1], [4, 2]], dtype=torch.int32, device="cuda")
    for bias, queries, keys, mask in packed_biases():
        shapes = (1, queries, 2, 16), (1, keys, 2, 16), (1, keys, 2, 16)
        q, k, v = (each.detach() for each in tensors(3, *shapes, dtype=torch.float16))
        exact = attention(q, k, v, mask=mask)[0]
        assert distance(blockwise((q, k, v), bias), exact) < 2e-3, bias
        if type(bias) not in paged:
            continue
        kind = paged[type(bias)]
        pages = bias.make_paged(block_tables=table, page_size=4, paged_type=kind)
        rows = [each.new_zeros(1, 24, 2, 16) for each in (k, v)]
        for index, page in enumerate(table.flatten().tolist()):
            for row, each in zip(rows, (k, v), strict=True):
                row[:, page * 4 : page * 4 + 4] = each[:, index * 4 : index * 4 + 4]
        assert distance(blockwise((q, *rows), pages), exact) < 2e-3, kind


def blockwise(inputs: Any, bias: Any) -> Tensor:
    """Compute attention also where the original's operators refuse a bias, or the size of its pages."""
    return forward(Call(bias, inputs[0].shape[-1] ** -0.5), *inputs)[0]


def test_every_bias_is_the_matrix_that_it_says():
    for bias, queries, keys, mask in packed_biases():
        assert bias.materialize((1, 2, queries, keys), torch.float64).equal(mask.expand(1, 2, -1, -1))
    for bias, plain in itertools.chain(plain_biases(7, 9), plain_biases(9, 5)):
        if plain is not None:
            assert bias.materialize((3, *plain.shape), torch.float64).equal(plain.expand(3, -1, -1))


def test_grouped_heads_and_shared_keys():
    (q,) = tensors(4, (2, 5, 2, 3, 16), dtype=torch.float16)
    k, v = tensors(5, *[(2, 8, 2, 1, 16)] * 2, dtype=torch.float16)
    k, v = (each.detach().expand(-1, -1, -1, 3, -1) for each in (k, v))
    flat = [each.detach().flatten(2, 3) for each in (q, k, v)]
    exact = attention(*flat)[0].unflatten(2, (2, 3))
    assert distance(memory_efficient_attention(q.detach(), k, v), exact) < 2e-3
    shared = [k[:, :, 0], v[:, :, 0]]
    exact = attention(q[:, :, 0].detach(), *shared)[0]
    assert distance(memory_efficient_attention(q[:, :, 0].detach(), *shared), exact) < 2e-3


def test_dropped_weights_have_the_gradients_of_the_output():
    q, k, v = tensors(6, *[(1, 40, 2, 16)] * 3, dtype=torch.float32)

    def run(value: Tensor) -> Tensor:
        torch.manual_seed(3)
        return memory_efficient_attention(q, k, value, p=0.3)

    step = torch.randn_like(v)
    (grad,) = torch.autograd.grad(run(v).sum(), v)
    change = (run(v + step) - run(v)).double().sum()
    torch.testing.assert_close((grad * step).double().sum(), change, rtol=1e-3, atol=1e-3)
    assert not torch.equal(run(v), memory_efficient_attention(q, k, v))

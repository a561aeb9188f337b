"""The fused kernels of attention for batches by rows and for sequences of several lengths."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

STARTS = torch.tensor([0, 3, 8, 9], dtype=torch.int32)
OTHERS = torch.tensor([0, 5, 11, 13], dtype=torch.int32)
flash, efficient = torch.ops.aten._flash_attention_forward, torch.ops.aten._efficient_attention_forward


def given(*sizes: int) -> Tensor:
    return torch.randn(sizes, device="cuda", requires_grad=True)


def halves(*inputs: Tensor) -> list[Tensor]:
    return [each.half() for each in inputs]


def expected(query: Tensor, key: Tensor, value: Tensor, causal: bool = False) -> Tensor:
    """Attention of (batch, rows, heads, width), causal from the bottom right."""
    query, key, value = (each.transpose(1, 2) for each in (query, key, value))
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if causal:
        hidden = torch.ones_like(scores, dtype=torch.bool).triu(1 + scores.shape[-1] - scores.shape[-2])
        scores = scores.masked_fill(hidden, -torch.inf)
    return (scores.softmax(-1) @ value).transpose(1, 2)


def of_sequences(query: Tensor, key: Tensor, value: Tensor, causal: bool = False) -> Tensor:
    rows, columns = STARTS.diff().tolist(), OTHERS.diff().tolist()
    parts = zip(query.split(rows), key.split(columns), value.split(columns), strict=True)
    return torch.cat([expected(*(each[None] for each in part), causal)[0] for part in parts])


def assert_same(result: Tensor, reference: Tensor, *inputs: Tensor) -> None:
    within = {"atol": 1e-2, "rtol": 1e-2} if result.dtype == torch.half else {"atol": 1e-4, "rtol": 1e-4}
    assert_close(result.float(), reference, **within)
    weights = torch.randn_like(reference)
    gradients = torch.autograd.grad(result, inputs, weights.to(result.dtype))
    assert_close(gradients, torch.autograd.grad(reference, inputs, weights), **within)


@pytest.mark.parametrize("causal", [False, True])
def test_batches_by_rows(causal: bool) -> None:
    query, key, value = given(2, 3, 4, 8), given(2, 5, 4, 8), given(2, 5, 4, 8)
    result, sums, *_ = flash(*halves(query, key, value), None, None, 3, 5, 0.0, causal, False)
    assert sums.shape == (2, 4, 3)
    assert_same(result, expected(query, key, value, causal), query, key, value)
    result, sums, *_ = efficient(
        query, key, value, None, None, None, None, None, 0.0, 2 * causal, compute_log_sumexp=True
    )
    assert sums.shape == (2, 4, 32)
    assert_same(result, expected(query, key, value, causal), query, key, value)


@pytest.mark.parametrize("causal", [False, True])
def test_sequences_of_several_lengths(causal: bool) -> None:
    query, key, value = given(9, 4, 8), given(13, 4, 8), given(13, 4, 8)
    starts, others = STARTS.cuda(), OTHERS.cuda()
    result, sums, *_ = flash(*halves(query, key, value), starts, others, 5, 6, 0.0, causal, False)
    assert sums.shape == (4, 9)
    assert_same(result, of_sequences(query, key, value, causal), query, key, value)
    result, sums, _, _, rows, columns = efficient(
        query[None],
        key[None],
        value[None],
        None,
        starts,
        others,
        5,
        6,
        0.0,
        2 * causal,
        compute_log_sumexp=True,
    )
    assert (sums.shape, rows, columns) == ((3, 4, 32), 5, 6)
    assert_same(result[0], of_sequences(query, key, value, causal), query, key, value)


def test_a_bias_has_gradients() -> None:
    query, key, value, bias = given(2, 3, 4, 8), given(2, 5, 4, 8), given(2, 5, 4, 8), given(2, 4, 3, 5)
    result, *_ = efficient(query, key, value, bias, None, None, None, None, 0.0, 0, compute_log_sumexp=True)
    scores = query.transpose(1, 2) @ key.permute(0, 2, 3, 1) / 8**0.5 + bias
    reference = (scores.softmax(-1) @ value.transpose(1, 2)).transpose(1, 2)
    [gradient] = torch.autograd.grad(result.sum(), bias, retain_graph=True)
    assert_same(result, reference, query, key, value, bias)
    assert gradient.stride() == (192, 48, 16, 1)  # as CUTLASS aligns its rows


def test_the_backward_pass_drops_what_the_forward_pass_dropped() -> None:
    query, key, value = given(9, 4, 8), given(13, 4, 8), given(13, 4, 8)
    starts, others = STARTS.cuda(), OTHERS.cuda()

    def result(value: Tensor) -> Tensor:
        torch.manual_seed(0)
        return efficient(
            *(each[None] for each in (query, key, value)),
            None,
            starts,
            others,
            5,
            6,
            0.5,
            0,
            compute_log_sumexp=True,
        )[0]

    (gradient,) = torch.autograd.grad(result(value).sum(), value)
    step = torch.randn_like(value)
    assert_close(
        result(value + step).sum() - result(value).sum(), (gradient * step).sum(), atol=1e-4, rtol=1e-4
    )


def test_what_is_not_computed_is_refused_by_name() -> None:
    (query,) = halves(given(2, 3, 4, 8))
    with pytest.raises(NotImplementedError, match="takes no alibi_slopes"):
        flash(
            query,
            query,
            query,
            None,
            None,
            3,
            3,
            0.0,
            False,
            False,
            alibi_slopes=torch.ones(4, device="cuda"),
        )


def test_torchs_attention_of_sequences() -> None:
    varlen = pytest.importorskip("torch.nn.attention.varlen", reason="torch has it since 2.10")
    query, key, value = (
        each.detach().half().requires_grad_() for each in (given(9, 4, 8), given(13, 4, 8), given(13, 4, 8))
    )
    result = varlen.varlen_attn(query, key, value, STARTS.cuda(), OTHERS.cuda(), 5, 6)
    wide = [each.detach().double().requires_grad_() for each in (query, key, value)]
    reference = of_sequences(*wide)
    assert_close(result.double(), reference, atol=2e-3, rtol=2e-3)
    result.sum().backward()
    reference.sum().backward()
    for half, double in zip((query, key, value), wide, strict=True):
        assert_close(half.grad, double.grad, atol=5e-3, rtol=5e-3, check_dtype=False)


def test_types_that_cudas_kernels_lack_are_refused() -> None:
    query = given(2, 3, 4, 8)
    with pytest.raises(RuntimeError, match="FlashAttention only support fp16 and bf16"):
        flash(query, query, query, None, None, 3, 3, 0.0, False, False)
    with pytest.raises(RuntimeError, match="Only fp32, half & bf16 supported"):
        efficient(*[query.double()] * 3, None, None, None, None, None, 0.0, 0)

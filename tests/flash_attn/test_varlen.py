"""Forward and backward attention for sequences of several lengths in one tensor, against float64."""

import itertools
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pytest
import torch
from torch import Tensor

from tests.flash_attn.reference import (
    attention,
    check,
    check_options,
    check_output,
    check_sums,
    integers,
    tensors,
)
from tests.later import Later, later

flash_attn_varlen_func = Later("flash_attn", "flash_attn_varlen_func")
pad_input, unpad_input = later("flash_attn.bert_padding", "pad_input", "unpad_input")


LENGTHS = (([5, 0, 17, 1], [5, 3, 17, 1]), ([1, 1, 1], [9, 1, 30]), ([12, 7], [4, 0]))
OPTIONS: tuple[dict[str, Any], ...] = ({}, {"causal": True}, {"window_size": (3, 1)}, {"softcap": 2.0})


def by_sequence(
    q: Tensor, k: Tensor, v: Tensor, lengths: tuple[list[int], list[int]], **options: Any
) -> tuple[Tensor, Tensor]:
    """Return the concatenated outputs and log-sum-exps of attention to each sequence alone."""
    slopes, kept = (options.pop(name, None) for name in ("alibi_slopes", "kept"))
    parts = []
    apart = zip(q.split(lengths[0]), k.split(lengths[1]), v.split(lengths[1]), strict=True)
    for index, rows in enumerate(apart):
        own = {
            "alibi_slopes": slopes if slopes is None or slopes.dim() == 1 else slopes[index],
            "kept": None if kept is None else kept[index][None],
        }
        parts.append(attention(*(each[None] for each in rows), **own, **options))
    return torch.cat([out[0] for out, _ in parts]), torch.cat([lse[0] for _, lse in parts], 1)


def inputs_for(lengths: tuple[list[int], list[int]], dtype: torch.dtype, size: int = 32) -> list[Tensor]:
    queries, keys = map(sum, lengths)
    return tensors(0, (queries, 4, size), (keys, 2, size), (keys, 2, size), dtype=dtype)


def arguments(lengths: tuple[list[int], list[int]]) -> tuple[Tensor, Tensor, int, int]:
    bounds = (integers(0, *itertools.accumulate(each)) for each in lengths)
    return *bounds, max(lengths[0]), max(lengths[1])


def check_lengths(lengths: tuple[list[int], list[int]], inputs: list[Tensor], **options: Any) -> None:
    """Compares attention to sequences together with attention to each alone."""
    check_options(
        lambda q, k, v, **options: flash_attn_varlen_func(q, k, v, *arguments(lengths), **options),
        inputs,
        lengths,
        reference=lambda q, k, v, **options: by_sequence(q, k, v, lengths, **options),
        **options,
    )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_output_and_gradients(dtype):
    for lengths, options in itertools.product(LENGTHS, OPTIONS):
        check_lengths(lengths, inputs_for(lengths, dtype), **options)


@pytest.mark.parametrize("shape", [(4,), (4, 4)])
def test_alibi(shape):
    slopes = torch.rand(*shape, generator=torch.Generator("cpu").manual_seed(2)).to("cuda")
    check_lengths(LENGTHS[0], inputs_for(LENGTHS[0], torch.float16), alibi_slopes=slopes, causal=True)


def test_logarithm_of_the_sums():
    for lengths in LENGTHS:
        q, k, v = inputs_for(lengths, torch.float16)
        _, lse, _ = flash_attn_varlen_func(q, k, v, *arguments(lengths), causal=True, return_attn_probs=True)
        expected = by_sequence(q, k, v, lengths, causal=True)[1]
        check_sums(lse, expected)


def test_dropout():
    lengths = ([40, 3], [50, 20])
    q, k, v = inputs_for(lengths, torch.bfloat16)
    torch.cuda.manual_seed(3)
    _, _, weights = flash_attn_varlen_func(
        q, k, v, *arguments(lengths), dropout_p=0.3, return_attn_probs=True
    )
    assert weights.shape == (2, 4, 128, 128)
    kept = [weights[0, :, :40, :50] >= 0, weights[1, :, :3, :20] >= 0]

    torch.cuda.manual_seed(3)
    check(
        lambda q, k, v: flash_attn_varlen_func(q, k, v, *arguments(lengths), dropout_p=0.3),
        lambda q, k, v, dtype: by_sequence(q, k, v, lengths, dtype=dtype, kept=kept, dropout_p=0.3)[0],
        [q, k, v],
    )


def test_keys_in_pages():
    lengths = ([3, 9], [300, 20])
    q, k, v = inputs_for(lengths, torch.float16)
    pages = torch.zeros(5, 256, 2, 32, dtype=q.dtype, device="cuda")
    key_pages, value_pages = pages.clone(), pages.clone()
    table = torch.tensor([[4, 1], [2, 0]], dtype=torch.int32, device="cuda")
    for packed, paged in ((k, key_pages), (v, value_pages)):
        first, second = packed.detach().split(lengths[1])
        paged[4], paged[1, :44], paged[2, :20] = first[:256], first[256:], second
    with torch.no_grad():
        expected = flash_attn_varlen_func(q, k, v, *arguments(lengths), causal=True)
        paged_out = flash_attn_varlen_func(
            q, key_pages, value_pages, *arguments(lengths), causal=True, block_table=table
        )
    assert torch.equal(expected, paged_out)


def test_any_lengths():
    """Property: results agree with float64 for sequences of any lengths."""
    length = st.integers(0, 24)

    @hypothesis.settings(
        max_examples=12, derandomize=True, deadline=None, suppress_health_check=list(hypothesis.HealthCheck)
    )
    @hypothesis.given(
        pairs=st.lists(st.tuples(length, length), min_size=1, max_size=4),
        causal=st.booleans(),
        window=st.tuples(st.integers(-1, 20), st.integers(-1, 20)),
    )
    def agree(pairs, causal, window):
        hypothesis.assume(sum(q for q, _ in pairs) > 0)
        lengths = [q for q, _ in pairs], [k for _, k in pairs]
        check_lengths(lengths, inputs_for(lengths, torch.float16, size=16), causal=causal, window_size=window)

    agree()


def test_unpadded_and_padded_again():
    """A padded batch unpadded by bert_padding gives the same as each sequence alone."""
    mask = torch.tensor([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0], [1, 1, 1, 1, 1]], device="cuda")
    q, k, v = tensors(0, *[(3, 5, 2, 32)] * 3, dtype=torch.bfloat16)
    tokens, indices, cu, longest, used = unpad_input(q, mask)
    keys, values = (unpad_input(each, mask)[0] for each in (k, v))
    out = pad_input(flash_attn_varlen_func(tokens, keys, values, cu, cu, longest, longest), indices, 3, 5)
    assert (longest, used.tolist(), cu.tolist()) == (5, [4, 2, 5], [0, 4, 6, 11])
    for index, length in enumerate((4, 2, 5)):
        own = slice(index, index + 1), slice(length)
        check_output(out[own], q[own], k[own], v[own])
        assert not out[index, length:].any()
    (grad,) = torch.autograd.grad(out.float().sum(), v)
    assert not grad[0, 4:].any()
    assert grad[0, :4].any()

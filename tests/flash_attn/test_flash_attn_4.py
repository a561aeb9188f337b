"""flash_attn 4 against float64."""

from typing import Any

import pytest
import torch
from torch import Tensor

from tests.flash_attn.reference import attention, check, detached, distance, integers, tensors
from tests.later import Later

flash_attn_func = Later("flash_attn.cute", "flash_attn_func")
flash_attn_varlen_func = Later("flash_attn.cute", "flash_attn_varlen_func")


SHAPES = ((2, 30, 4, 32), (2, 50, 2, 32), (2, 50, 2, 48))


def expected(q: Tensor, k: Tensor, v: Tensor, **options: Any) -> tuple[Tensor, Tensor]:
    """Return the output and log-sum-exp, in which a sink counts as one more key without a value."""
    sink = options.pop("learnable_sink", None)
    out, lse = attention(q, k, v, **options)
    if sink is None:
        return out, lse
    total = torch.logaddexp(lse, sink.cpu().to(lse.dtype)[:, None].expand(lse.shape))
    return out * (lse - total).exp().transpose(1, 2)[..., None], total


def test_sinks_and_gradients_of_the_sums():
    """The log-sum-exp is differentiable too, and a loss may depend on both results."""
    (sink,) = tensors(3, (4,), dtype=torch.bfloat16)
    factors = torch.randn(2, 4, 30, generator=torch.Generator("cpu").manual_seed(4))

    def both(function: Any, *inputs: Tensor, **options: Any) -> Tensor:
        q, k, v, learnable_sink = inputs
        out, lse = function(q, k, v, learnable_sink=learnable_sink, **options)
        lse = lse.masked_fill(lse.isinf(), 0)
        return out + (lse * factors.to(lse.device, lse.dtype)).transpose(1, 2)[..., None].to(out.dtype)

    for options in ({}, {"causal": True}, {"window_size": (40, 0)}, {"softcap": 2.0}):
        check(
            lambda *inputs, options=options: both(flash_attn_func, *inputs, return_lse=True, **options),
            lambda *inputs, dtype, options=options: both(expected, *inputs, dtype=dtype, **options),
            [*tensors(0, *SHAPES, dtype=torch.bfloat16), sink],
            options,
        )


def test_which_sums_are_returned():
    q, k, v = tensors(0, (1, 9, 2, 32), (1, 5, 2, 32), (1, 5, 2, 32), dtype=torch.float16)
    out, lse = flash_attn_func(q, k, v, causal=True)  # returned anyway if inputs require gradients
    (grad,) = torch.autograd.grad(out.float().sum() + lse[:, :, 4:].sum(), q)
    assert torch.equal(
        grad, torch.autograd.grad(flash_attn_func(q, k, v, causal=True)[0].float().sum(), q)[0]
    )
    plain = [each.detach() for each in (q, k, v)]
    again, none = flash_attn_func(*plain, causal=True)
    assert none is None
    assert torch.equal(again, out)
    sink = torch.tensor([0.5, -2.0], device="cuda")
    out, lse = flash_attn_func(*plain, causal=True, learnable_sink=sink, return_lse=True)
    assert not out[:, :4].any()
    assert torch.equal(lse[0, :, 0], sink)
    whole = flash_attn_func(*plain, window_size=(-1, -1))[0]  # a window that leaves no key shows all
    assert torch.equal(whole, flash_attn_func(*plain, return_lse=True)[0])


def test_sequences_of_several_lengths():
    bounds = {"cu_seqlens_q": integers(0, 8, 20), "cu_seqlens_k": integers(0, 10, 30)}
    (sink,) = tensors(3, (4,), dtype=torch.float32)

    def in_turns(q: Tensor, k: Tensor, v: Tensor, sink: Tensor, dtype: torch.dtype) -> Tensor:
        parts = zip(q.split([8, 12]), k.split([10, 20]), v.split([10, 20]), strict=True)
        options = {"causal": True, "learnable_sink": sink, "dtype": dtype}
        return torch.cat([expected(*(each[None] for each in part), **options)[0][0] for part in parts])

    inputs = [*tensors(0, (20, 4, 32), (30, 2, 32), (30, 2, 48), dtype=torch.bfloat16), sink]
    check(
        lambda q, k, v, sink: flash_attn_varlen_func(q, k, v, causal=True, learnable_sink=sink, **bounds)[0],
        in_turns,
        inputs,
    )


def test_how_much_of_each_sequence_counts():
    q, k, v = tensors(0, (2, 6, 4, 32), (2, 9, 2, 32), (2, 9, 2, 32), dtype=torch.bfloat16)
    used = {"seqused_q": integers(6, 4), "seqused_k": integers(9, 5)}
    out, lse = flash_attn_varlen_func(q, k, v, causal=True, return_lse=True, **used)
    assert lse.shape == (2, 4, 6)
    own = q[1:, :4], k[1:, :5], v[1:, :5]
    assert distance(out[1:, :4], attention(*own, causal=True)[0]) < 0.02
    assert not out[1, 4:].any()
    grads = torch.autograd.grad(out.float().square().sum(), (q, k, v))
    assert not grads[0][1, 4:].any()
    assert not grads[1][1, 5:].any()
    assert all(grad[1, :4].any() for grad in grads)
    keys = {"cu_seqlens_q": integers(0, 6, 10), "seqused_k": integers(9, 5)}
    packed = torch.cat([q[0], q[1, :4]])
    mixed, _ = flash_attn_varlen_func(packed, k, v, causal=True, **keys)
    assert torch.equal(mixed, torch.cat([out[0], out[1, :4]]))
    again = torch.autograd.grad(mixed.float().square().sum(), (q, k, v))
    assert all(map(torch.equal, grads, again))


def test_keys_in_pages():
    q, k, v = detached(0, (5, 4, 32), (7, 4, 2, 32), (7, 4, 2, 32), dtype=torch.float16)
    table = integers([3, 1, 0], [6, 5, 2])
    options = {"cu_seqlens_q": integers(0, 2, 5), "seqused_k": integers(7, 12), "page_table": table}
    out, _ = flash_attn_varlen_func(q, k, v, causal=True, num_splits=3, **options)
    for index, own, length in ((0, slice(2), 7), (1, slice(2, 5), 12)):
        keys, values = (each[table[index].long()].flatten(0, 1)[None, :length] for each in (k, v))
        assert distance(out[None, own], attention(q[None, own], keys, values, causal=True)[0]) < 5e-3


def test_values_that_are_keys():
    q, v = tensors(0, (1, 6, 2, 512), (1, 9, 1, 512), dtype=torch.bfloat16)
    check(
        lambda v, q: flash_attn_func(q, v, v)[0],
        lambda v, q, dtype: attention(q, v, v, dtype=dtype)[0],
        [v, q],
    )


@pytest.mark.platforms("cpu")
def test_inputs_of_8_bits():
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        small = [x.detach().to(dtype) for x in tensors(0, *SHAPES, dtype=torch.bfloat16)]
        out, lse = flash_attn_func(*small, causal=True)
        assert (out.dtype, lse) == (torch.bfloat16, None)
        assert distance(out, attention(*(x.double() for x in small), causal=True)[0]) < 0.02

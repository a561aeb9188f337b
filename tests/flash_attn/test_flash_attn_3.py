"""flash_attn 3 against float64."""

import itertools
import math

import pytest
import torch
from torch import Tensor

from tests.flash_attn.reference import attention, detached, distance, integers, tensors
from tests.later import Later

packaged = Later("flash_attn_3.flash_attn_interface")
flash_attn_interface = Later("flash_attn_interface")
of_flash_attn_2 = Later("flash_attn", "flash_attn_with_kvcache")
flash_attn_func = Later("flash_attn_interface", "flash_attn_func")
flash_attn_varlen_func = Later("flash_attn_interface", "flash_attn_varlen_func")
flash_attn_with_kvcache = Later("flash_attn_interface", "flash_attn_with_kvcache")


SHAPES = ((2, 30, 4, 32), (2, 50, 2, 32), (2, 50, 2, 32))


def close(actual: Tensor, expected: Tensor, allowed: float = 0.02) -> None:
    assert distance(actual, expected) < allowed


def test_chunks():
    q, k, v = detached(0, *SHAPES, dtype=torch.bfloat16)
    for chunk, causal in itertools.product((16, 30), (False, True)):
        out = flash_attn_func(q, k, v, attention_chunk=chunk, causal=causal)
        close(out, attention(q, k, v, attention_chunk=chunk, causal=causal)[0])
    q.requires_grad_()
    with pytest.raises(AssertionError, match="FA3 backward does not support attention_chunk"):
        flash_attn_func(q, k, v, attention_chunk=16).sum().backward()


def test_values_in_the_scores():
    q, k, v = detached(0, *SHAPES[:2], (2, 50, 2, 48), dtype=torch.bfloat16)
    (qv,) = detached(1, (2, 30, 4, 48), dtype=torch.bfloat16)
    padded = torch.cat([v, torch.zeros_like(k)], -1)
    expected = attention(torch.cat([q, qv], -1), torch.cat([k, v], -1), padded)[0]
    close(flash_attn_func(q, k, v, qv=qv), expected[..., :48])


@pytest.mark.platforms("cpu")
def test_inputs_of_8_bits():
    scales = torch.rand(3, 2, 2, generator=torch.Generator("cpu").manual_seed(0)) + 0.5
    small = [x.detach().to(torch.float8_e4m3fn) for x in tensors(0, *SHAPES, dtype=torch.bfloat16)]
    wide = [
        x.cpu().double() * scale.repeat_interleave(x.shape[2] // 2, 1)[:, None, :, None]
        for x, scale in zip(small, scales, strict=True)
    ]
    q_scale, k_scale, v_scale = scales.to("cuda")
    out = flash_attn_func(*small, causal=True, q_descale=q_scale, k_descale=k_scale, v_descale=v_scale)
    assert out.dtype == torch.bfloat16
    close(out, attention(*wide, causal=True)[0])


def test_sequences_and_how_much_of_them_counts():
    q, k, v = tensors(0, (20, 4, 32), (30, 2, 32), (30, 2, 32), dtype=torch.bfloat16)
    bounds = integers(0, 8, 20), integers(0, 10, 30), 12, 20
    out, lse = flash_attn_varlen_func(
        q,
        k,
        v,
        *bounds,
        seqused_k=integers(7, 20),
        seqused_q=integers(8, 5),
        causal=True,
        return_attn_probs=True,
    )
    assert out.shape == (20, 4, 32)
    assert lse.shape == (4, 20)
    expected = attention(q[None, :8], k[None, :7], v[None, :7], causal=True)
    close(out[:8], expected[0][0])
    close(out[8:13], attention(q[None, 8:13], k[None, 10:], v[None, 10:], causal=True)[0][0])
    assert not out[13:].any()
    assert (lse[:, 13:] == -math.inf).all()
    grads = torch.autograd.grad(out.float().square().sum(), (q, k, v))
    assert not grads[0][13:].any()
    assert not grads[1][7:10].any()
    assert all(grad[:7].any() for grad in grads)


def test_cache_in_small_pages_with_sequences_of_queries():
    shapes = (2, 3, 4, 32), (9, 4, 2, 32), (9, 4, 2, 32), (2, 3, 2, 32), (2, 3, 2, 32)
    q, keys, values, new_k, new_v = detached(0, *shapes, dtype=torch.float16)
    table, lengths = integers([3, 1, 0], [7, 8, 2]), integers(2, 9)
    options = {"page_table": table, "causal": True}
    out, lse, *rest = flash_attn_with_kvcache(
        q, keys, values, new_k, new_v, cache_seqlens=lengths, return_softmax_lse=True, **options
    )
    assert len(rest) == 2
    for index, length in enumerate((5, 12)):
        own = [each[table[index].long()].flatten(0, 1)[None, :length] for each in (keys, values)]
        assert torch.equal(own[0][0, -3:], new_k[index])
        expected, sums = attention(q[index : index + 1], *own, causal=True)
        close(out[index : index + 1], expected, 5e-3)
        close(lse[index : index + 1], sums, 5e-4)
    packed = torch.cat([q[0, 1:], q[1]])
    again = flash_attn_with_kvcache(
        packed,
        keys,
        values,
        cache_seqlens=lengths + 3,
        cu_seqlens_q=integers(0, 2, 5),
        max_seqlen_q=3,
        **options,
    )
    close(again, torch.cat([out[0, 1:], out[1]]), 3e-3)


def test_a_sequence_may_have_any_row_of_the_table_of_pages():
    shapes = (2, 3, 4, 32), (9, 4, 2, 32), (9, 4, 2, 32), (2, 3, 2, 32), (2, 3, 2, 32)
    q, *tensors_of_keys = detached(0, *shapes, dtype=torch.float16)
    table, rows, lengths = integers([3, 1, 0], [4, 5, 6], [7, 8, 2]), integers(2, 0), integers(2, 9)
    outs = []
    for options in ({"page_table": table, "cache_batch_idx": rows}, {"page_table": table[rows.long()]}):
        keys, values, *new = (each.clone() for each in tensors_of_keys)
        outs.append((flash_attn_with_kvcache(q, keys, values, *new, cache_seqlens=lengths, **options), keys))
    assert all(map(torch.equal, *outs))


def test_rotated_cache():
    shapes = (2, 3, 4, 32), (2, 16, 2, 32), (2, 16, 2, 32), (2, 3, 2, 32), (2, 3, 2, 32), (16, 8), (16, 8)
    q, k, v, new_k, new_v, cos, sin = detached(0, *shapes, dtype=torch.float16)
    for causal, interleaved in itertools.product((False, True), (False, True)):
        options = {"causal": causal, "rotary_interleaved": interleaved, "rotary_cos": cos, "rotary_sin": sin}
        caches = [[k.clone(), v.clone()] for _ in range(2)]
        results = [
            function(q, *cache, new_k, new_v, cache_seqlens=integers(2, 9), **options)
            for function, cache in zip((of_flash_attn_2, flash_attn_with_kvcache), caches, strict=True)
        ]
        close(*results, 1e-6)
        assert torch.equal(caches[0][0], caches[1][0])


def test_packed_heads_and_operators():
    assert packaged.flash_attn_func is flash_attn_interface.flash_attn_func
    (qkv,) = tensors(0, (2, 12, 8, 32), dtype=torch.bfloat16)
    out = flash_attn_interface.flash_attn_qkvpacked_func(qkv, causal=True, num_heads_q=4)
    separate = [each.detach().requires_grad_() for each in qkv.split([4, 2, 2], 2)]
    expected, _, _, _ = flash_attn_interface._flash_attn_forward(*separate, causal=True)
    assert torch.equal(out, expected)
    for each in (out, expected):
        each.float().square().sum().backward()
    assert torch.equal(qkv.grad, torch.cat([each.grad for each in separate], 2))
    metadata = flash_attn_interface.get_scheduler_metadata(2, 1, 8, 4, 2, 32, integers(3, 4))
    assert metadata.dtype == torch.int32


def test_operators_of_the_extension():
    import flash_attn_3._C  # noqa: F401 (makes them)

    operators = torch.ops.flash_attn_3
    q, k, v = tensors(0, *SHAPES, dtype=torch.bfloat16)
    expected = flash_attn_func(q, k, v, causal=True, return_attn_probs=True)
    out = torch.empty_like(q)
    lse = operators.fwd(q, k, v, out=out, is_causal=True)[1]
    assert torch.equal(out, expected[0])
    assert torch.equal(lse, expected[1])
    grads = [torch.empty_like(each) for each in (q, k, v)]
    results = operators.bwd(torch.ones_like(out), q, k, v, out, lse, *grads, is_causal=True)
    assert len(results) == 5
    assert all(map(torch.equal, grads, torch.autograd.grad(expected[0].sum(), (q, k, v))))
    parts = torch.stack([out, out]).float(), torch.stack([lse, lse]).transpose(-1, -2)
    assert torch.equal(operators.fwd_combine(*parts, None, torch.bfloat16)[0], out)
    lengths = integers(3, 4)
    zeros = operators.get_scheduler_metadata(2, 1, 8, 4, 2, 32, 32, torch.bfloat16, lengths)
    assert zeros.dtype == torch.int32

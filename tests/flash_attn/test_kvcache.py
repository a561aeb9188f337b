"""Attention over a cache, to which new keys and values are appended in place, against float64."""

import functools
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.flash_attn.reference import (
    attention,
    check_output,
    check_sums,
    detached,
    distance,
    integers,
    rotated,
)
from tests.later import later

flash_attn_func, flash_attn_with_kvcache = later("flash_attn", "flash_attn_func", "flash_attn_with_kvcache")


ROOM = 300


# new tokens, causal, interleaved rotary (None: no rotary), window
CASES = (
    (1, False, None, (-1, -1)),
    (3, True, None, (20, 0)),
    (3, False, True, (-1, -1)),
    (3, True, True, (-1, -1)),
    (1, True, False, (-1, -1)),
    (3, False, False, (20, 5)),
)


close = functools.partial(check_output, times=3)  # flash_attn's own tolerance for caches


@pytest.mark.parametrize("paged", [False, True])
def test_append_rotate_and_attend(paged):
    for new, causal, interleaved, window in CASES:
        q, k, v = detached(0, (2, new, 4, 64), *[(2, new, 2, 64)] * 2, dtype=torch.float16)
        lengths, places = (17, 260), (3, 1)
        caches = detached(1, *[(5, ROOM, 2, 64)] * 2, dtype=torch.float16)
        held = [
            [cache[place, :length].clone() for place, length in zip(places, lengths, strict=True)]
            for cache in caches
        ]
        options: dict[str, Any] = {"cache_batch_idx": integers(*places)}
        if paged:
            caches, options = in_pages(held)
        angles = torch.rand(512, 16, generator=torch.Generator("cpu").manual_seed(1)).to("cuda") * 6
        cos, sin = angles.cos().half(), angles.sin().half()
        if interleaved is not None:
            options |= {"rotary_cos": cos, "rotary_sin": sin, "rotary_interleaved": interleaved}
        options |= {"causal": causal, "window_size": window, "cache_seqlens": integers(*lengths)}
        out = flash_attn_with_kvcache(q, *caches, k, v, **options)
        for index, length in enumerate(lengths):
            own_q, own_k = q[index].cpu().double(), k[index].cpu().double()
            if interleaved is not None:
                places_of_k = torch.arange(length, length + new)
                places_of_q = places_of_k if causal or window != (-1, -1) else places_of_k[:1]
                own_q = rotated(own_q, cos[places_of_q], sin[places_of_q], interleaved)
                own_k = rotated(own_k, cos[places_of_k], sin[places_of_k], interleaved)
            keys = torch.cat([held[0][index].cpu().double(), own_k.half().double()])
            values = torch.cat([held[1][index].cpu(), v[index].cpu()])
            close(
                out[index : index + 1],
                own_q[None],
                keys[None],
                values[None],
                causal=causal,
                window_size=window,
            )
            written = [stored(cache, options, index, length, new) for cache in caches]
            assert distance(written[0], own_k) < 5e-3
            assert torch.equal(written[1], v[index])


def in_pages(held: list[list[Tensor]]) -> tuple[list[Tensor], dict[str, Any]]:
    """Return the sequences in pages of 256 tokens, and the block table."""
    table, caches = integers([6, 2], [0, 5]), []
    for sequences in held:
        (pages,) = detached(2, (7, 256, 2, 64), dtype=torch.float16)
        for row, sequence in zip(table.tolist(), sequences, strict=True):
            for page, part in zip(row, sequence.split(256), strict=False):
                pages[page, : len(part)] = part
        caches.append(pages)
    return caches, {"block_table": table}


def stored(cache: Tensor, options: dict[str, Any], index: int, start: int, count: int) -> Tensor:
    if "block_table" in options:
        rows = cache[options["block_table"][index].long()].flatten(0, 1)
    else:
        rows = cache[int(options["cache_batch_idx"][index])]
    return rows[start : start + count]


def test_whole_cache_and_lengths_as_a_number():
    q, k, v = detached(0, (2, 2, 4, 32), *[(2, 20, 2, 32)] * 2, dtype=torch.float16)
    out, lse = flash_attn_with_kvcache(q, k, v, causal=True, return_softmax_lse=True)
    close(out, q, k, v, causal=True)
    check_sums(lse, attention(q, k, v, causal=True)[1])
    out = flash_attn_with_kvcache(q, k, v, cache_seqlens=7, num_splits=3, softcap=1.5)
    close(out, q, k[:, :7], v[:, :7], softcap=1.5)
    (new,) = detached(1, (2, 2, 2, 32), dtype=torch.float16)
    flash_attn_with_kvcache(q, k, v, new, new, cache_seqlens=7)
    assert torch.equal(k[:, 7:9], new)


def test_left_padding_alibi_and_odd_head_sizes():
    q, k, v = detached(0, (2, 3, 4, 36), *[(2, 40, 2, 36)] * 2, dtype=torch.float16)
    slopes = torch.rand(2, 4, generator=torch.Generator("cpu").manual_seed(0)).to("cuda")
    lengths, pads = (30, 12), (4, 12)
    options = {"causal": True, "alibi_slopes": slopes}
    out, lse = flash_attn_with_kvcache(
        q,
        k,
        v,
        cache_seqlens=integers(*lengths),
        cache_leftpad=integers(*pads),
        return_softmax_lse=True,
        **options,
    )
    close(out[:1], q[:1], k[:1, 4:30], v[:1, 4:30], causal=True, alibi_slopes=slopes[:1])
    assert not out[1].any()
    assert lse[1].isposinf().all()


def test_a_whole_generation():
    """Attending token by token with a cache gives the same as attending to all at once."""
    q, k, v = detached(0, (2, 6, 4, 32), *[(2, 6, 2, 32)] * 2, dtype=torch.float16)
    at_once = flash_attn_func(q, k, v, causal=True)
    caches = torch.zeros(2, 2, 10, 2, 32, dtype=q.dtype, device="cuda")
    for token in range(6):
        own = slice(token, token + 1)
        out = flash_attn_with_kvcache(
            q[:, own], *caches, k[:, own], v[:, own], cache_seqlens=token, causal=True
        )
        assert distance(out, at_once[:, own]) < 3e-3

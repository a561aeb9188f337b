"""Attention of xformers in graphs: each replay takes the lengths that the device has then."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.later import Later

fmha = Later("xformers.ops.fmha")
memory_efficient_attention = Later("xformers.ops", "memory_efficient_attention")
memory_efficient_attention_forward = Later("xformers.ops", "memory_efficient_attention_forward")


pytestmark = pytest.mark.platforms("cpu", "simulated-xpu")


def random(*shape: int) -> Tensor:
    return torch.randn(shape, device="cuda", dtype=torch.bfloat16).requires_grad_()


def test_sequences_and_their_gradients() -> None:
    inputs = tuple(random(1, 9, 2, 32) for _ in range(3))
    bias = fmha.attn_bias.BlockDiagonalCausalMask.from_seqlens([3, 6])

    def work() -> list[Tensor]:
        out = memory_efficient_attention(*inputs, attn_bias=bias)
        return [out.detach(), *torch.autograd.grad(out.float().square().sum(), inputs)]

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = work()
    for lengths in ([3, 6], [5, 4]):
        bias.q_seqinfo.from_seqlens_inplace(lengths)
        graph.replay()
        torch.testing.assert_close(results, work(), rtol=0, atol=0)


def test_a_cache_grows_between_replays() -> None:
    query, (key, value) = random(1, 2, 2, 32), torch.randn(2, 1, 32, 2, 32, device="cuda").bfloat16()
    bias = fmha.attn_bias.BlockDiagonalCausalWithOffsetPaddedKeysMask.from_seqlens(
        q_seqlen=[1, 1], kv_padding=16, kv_seqlen=[3, 12]
    )
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        result = memory_efficient_attention_forward(query, key, value, attn_bias=bias)
    for lengths in ([3, 12], [9, 1]):
        bias.k_seqinfo.seqlen.copy_(torch.tensor(lengths))
        graph.replay()
        parts = [slice(0, lengths[0]), slice(16, 16 + lengths[1])]
        expected = [
            memory_efficient_attention_forward(query[:, [index]], key[:, own], value[:, own])
            for index, own in enumerate(parts)
        ]
        torch.testing.assert_close(result, torch.cat(expected, 1), rtol=0.02, atol=0.02)

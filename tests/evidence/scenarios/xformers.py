"""Attention with biases, apart and in parts, and the operators around it, with tiny tensors."""

from collections.abc import Iterable

import torch

from tests.evidence.tensors import HALF, is_good, tensor


def run() -> Iterable[str]:
    """Uses xformers as a program would."""
    for part in (_attention, _packed, _parts, _layers, _caches):
        part()
    return ()


def _attention() -> None:
    import xformers.ops as xops
    from xformers.ops.fmha import attn_bias

    q = tensor(1, 8, 2, 16)
    assert is_good(xops.memory_efficient_attention(q, q, q))
    assert is_good(xops.memory_efficient_attention_forward(q.detach(), q, q))
    for bias in (
        attn_bias.LowerTriangularMask(),
        attn_bias.LowerTriangularMaskWithTensorBias(torch.zeros(1, 2, 8, 8, **HALF)),
    ):
        assert bias.materialize((8, 8), device="cuda").shape[-2:] == (8, 8)
        assert is_good(xops.memory_efficient_attention(q, q, q, bias))


def _packed() -> None:
    import xformers.ops as xops
    from xformers.ops.fmha import attn_bias

    q, lists = tensor(1, 8, 2, 16), [tensor(1, 3, 2, 16), tensor(1, 5, 2, 16)]
    bias, joined = attn_bias.BlockDiagonalMask.from_tensor_list(lists)
    parts = bias.split(xops.memory_efficient_attention(joined, q, q, bias))
    assert [each.shape[1] for each in parts] == [3, 5]
    for each in (bias.make_causal(), bias.make_local_attention(2), bias.make_causal_from_bottomright()):
        assert is_good(xops.memory_efficient_attention(joined.detach(), q, q, each))


def _parts() -> None:
    from xformers.ops import fmha

    q = tensor(1, 8, 2, 16).detach()
    out, sums = fmha.memory_efficient_attention_forward_requires_grad(q, q, q)
    assert is_good(*fmha.memory_efficient_attention_backward(torch.ones_like(out), out, sums, q, q, q))
    halves = [fmha.memory_efficient_attention_partial(q, q[:, :4], q[:, :4]) for _ in range(2)]
    assert is_good(fmha.merge_attentions(*zip(*halves, strict=True))[0])


def _layers() -> None:
    import xformers.ops as xops

    x, index = torch.randn(4, 2, 8, device="cuda"), torch.tensor([2, 0], device="cuda")
    assert is_good(xops.SwiGLU(8, 16, 4).cuda()(x), xops.RMSNorm(8).cuda()(x))
    xops.scaled_index_add(x.clone(), index, x[:2], torch.ones(8, device="cuda"), 0.5)
    assert xops.index_select_cat([x.flatten(1)], [index]).numel() == 32
    assert len(xops.unbind(x, 1)) == 2


def _caches() -> None:
    import xformers.ops as xops
    from xformers.ops.fmha.attn_bias import BlockDiagonalCausalWithOffsetPaddedKeysMask as Padded

    q, new, caches = (torch.randn(shape, **HALF) for shape in ((1, 2, 2, 8), (1, 2, 2, 8), (2, 1, 8, 2, 8)))
    bias = Padded.from_seqlens([1, 1], 4, [3, 2])
    turned = xops.rope_padded(q, new, new, *caches, bias)
    assert is_good(turned, xops.memory_efficient_attention(turned, *caches, bias))

"""What CUDA's kernels of attention take and refuse, and how their results lie in memory."""

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.testing import assert_close

CUDA = torch.device("cuda:0")


@pytest.mark.parametrize("kernel", ["EFFICIENT_ATTENTION", "CUDNN_ATTENTION"])
def test_a_mask_may_be_causal_too(kernel):
    given = [torch.randn(1, 2, 4, 8, device=CUDA, dtype=torch.half) for _ in range(3)]
    mask = torch.randn(4, 4, device=CUDA, dtype=torch.half)
    hidden = torch.ones(4, 4, device=CUDA, dtype=torch.bool).triu(1)
    with sdpa_kernel(getattr(SDPBackend, kernel)):
        result = F.scaled_dot_product_attention(*given, attn_mask=mask, is_causal=True)
        expected = F.scaled_dot_product_attention(*given, attn_mask=mask.masked_fill(hidden, -torch.inf))
    assert_close(result, expected, atol=1e-2, rtol=1e-2)
    with sdpa_kernel(SDPBackend.MATH), pytest.raises(RuntimeError, match="should not be set when is_causal"):
        F.scaled_dot_product_attention(*given, attn_mask=mask, is_causal=True)


REFUSED = {
    "a mask of another type": (
        "EFFICIENT_ATTENTION",
        lambda q: F.scaled_dot_product_attention(q, q, q, attn_mask=torch.zeros(4, 4, device=CUDA)),
        "invalid dtype for bias",
    ),
    "fewer keys than values": (
        "EFFICIENT_ATTENTION",
        lambda q: F.scaled_dot_product_attention(q, q[:, :, :2], q),
        r"Expected key.size\(1\) == value.size\(1\) to be true",
    ),
    "nothing left by FlashAttention": (
        "FLASH_ATTENTION",
        lambda q: F.scaled_dot_product_attention(q, q, q, dropout_p=1.0),
        "Expected p_dropout < 1.f to be true",
    ),
    "nothing left by cuDNN": (
        "CUDNN_ATTENTION",
        lambda q: F.scaled_dot_product_attention(q, q, q, dropout_p=1.0),
        "Dropout probability cannot be 1",
    ),
    "a width that is not padded": (
        "FLASH_ATTENTION",
        lambda q: torch.ops.aten._scaled_dot_product_flash_attention(q[..., :4], q[..., :4], q[..., :4]),
        "head_size must be a multiple of 8",
    ),
}


@pytest.mark.parametrize("which", REFUSED)
def test_what_the_kernels_themselves_refuse(which):
    kernel, call, words = REFUSED[which]
    query = torch.ones(1, 2, 4, 8, device=CUDA, dtype=torch.half)
    with sdpa_kernel(getattr(SDPBackend, kernel)), pytest.raises(RuntimeError, match=words):
        call(query)


def test_results_are_laid_out_as_the_kernels_do():
    given = [torch.randn(2, 2, 8, 12, device=CUDA, dtype=torch.half) for _ in range(3)]
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        padded = F.scaled_dot_product_attention(*given)
    assert padded.stride()[-2:] == (16, 1)
    assert_close(
        padded.float(), F.scaled_dot_product_attention(*(x.float() for x in given)), atol=1e-2, rtol=0
    )
    wide = [torch.randn(2, 2, 8, 16, device=CUDA, dtype=torch.half) for _ in range(3)]
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        assert F.scaled_dot_product_attention(*wide).stride() == (256, 128, 16, 1)
    with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
        assert F.scaled_dot_product_attention(*(x[:1, :1] for x in wide)).stride() == (128, 16, 16, 1)

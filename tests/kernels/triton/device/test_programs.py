"""Kernels as programs write them, compared with torch's operators."""

import pytest
import torch

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")


@triton.jit
def softmax(x, out, stride, rows, columns, BLOCK: tl.constexpr):
    j = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        a = tl.load(x + row * stride + j, mask=j < columns, other=-float("inf"))
        a = tl.exp(a - tl.max(a, 0))
        tl.store(out + row * stride + j, a / tl.sum(a, 0), mask=j < columns)


@pytest.mark.parametrize("columns", [1, 100, 781])
def test_softmax(columns):
    x = torch.randn(67, columns, device="cuda")
    out = torch.empty_like(x)
    softmax[(5,)](x, out, columns, 67, columns, BLOCK=triton.next_power_of_2(columns))
    torch.testing.assert_close(out, x.softmax(1))


@triton.jit
def attention(q, k, v, out, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(1) * length * D
    i, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    query = tl.load(q + head + i[:, None] * D + d[None, :])
    most = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    result = tl.zeros([BM, D], tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * BM, BN):
        j = start + tl.arange(0, BN)
        key = tl.load(k + head + j[None, :] * D + d[:, None])
        scores = tl.dot(query, key, input_precision="ieee") * scale
        scores = tl.where(i[:, None] >= j[None, :], scores, -float("inf"))
        higher = tl.maximum(most, tl.max(scores, 1))
        weights, kept = tl.exp2(scores - higher[:, None]), tl.exp2(most - higher)
        value = tl.load(v + head + j[:, None] * D + d[None, :])
        result = tl.dot(weights.to(value.dtype), value, result * kept[:, None], input_precision="ieee")
        total, most = total * kept + tl.sum(weights, 1), higher
    tl.store(out + head + i[:, None] * D + d[None, :], (result / total[:, None]).to(out.dtype.element_ty))


@pytest.mark.parametrize(
    ("dtype", "close"), [(torch.float32, 1e-5), (torch.float16, 3e-3), (torch.bfloat16, 2e-2)]
)
def test_causal_attention(dtype, close):
    q, k, v = (torch.randn(3, 128, 32, device="cuda").to(dtype) for _ in range(3))
    out = torch.empty_like(q)
    attention[(4, 3)](q, k, v, out, 128, 32**-0.5 * 1.4426950408889634, BM=32, BN=32, D=32)
    expected = torch.nn.functional.scaled_dot_product_attention(
        q.double(), k.double(), v.double(), is_causal=True
    )
    torch.testing.assert_close(out.double(), expected, rtol=close, atol=close)

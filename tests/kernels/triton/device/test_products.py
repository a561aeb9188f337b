"""Products of matrices in every type, compared with torch."""

import pytest
import torch

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    at = a + i[:, None] * K + k[None, :]
    bt = b + k[:, None] * N + j[None, :]
    total = tl.zeros([BM, BN], tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32)
    for step in range(tl.cdiv(K, BK)):
        inside = k < K - step * BK
        left = tl.load(at, mask=(i < M)[:, None] & inside[None, :], other=0.0)
        right = tl.load(bt, mask=inside[:, None] & (j < N)[None, :], other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee", out_dtype=total.dtype)
        at += BK
        bt += BK * N
    tl.store(c + i[:, None] * N + j[None, :], total, mask=(i < M)[:, None] & (j < N)[None, :])


@pytest.mark.parametrize(
    "dtype",
    [torch.float32, torch.float16, torch.bfloat16, torch.float8_e5m2, torch.float8_e4m3fn, torch.int8],
)
def test_products(dtype):
    m, n, k = 50, 70, 90
    generator = torch.Generator().manual_seed(5)
    if dtype == torch.int8:
        a, b = (torch.randint(-128, 128, s, generator=generator).to(dtype) for s in ((m, k), (k, n)))
    else:
        a, b = (torch.randn(s, generator=generator).to(dtype) for s in ((m, k), (k, n)))
    out = torch.empty(m, n, dtype=torch.int32 if dtype == torch.int8 else torch.float32, device="cuda")
    matmul[(2, 3)](a.cuda(), b.cuda(), out, m, n, k, BM=32, BN=32, BK=32)
    expected = a.double() @ b.double()
    torch.testing.assert_close(out.cpu().double(), expected, rtol=1e-5, atol=1e-4)


@triton.jit
def batched(a, b, c, Z: tl.constexpr, N: tl.constexpr, DTYPE: tl.constexpr):
    z, i, j = tl.arange(0, Z)[:, None, None], tl.arange(0, N)[None, :, None], tl.arange(0, N)[None, None, :]
    places = z * N * N + i * N + j
    left, right = tl.load(a + places), tl.load(b + places)
    tl.store(c + places, tl.dot(left, tl.trans(right, 0, 2, 1), out_dtype=DTYPE))


@pytest.mark.parametrize(("dtype", "out_dtype"), [(torch.float16, "float16"), (torch.float64, "float64")])
def test_batches(dtype, out_dtype):
    a, b = (torch.randn(4, 16, 16, dtype=dtype, device="cuda") for _ in range(2))
    out = torch.empty_like(a)
    batched[(1,)](a, b, out, Z=4, N=16, DTYPE=getattr(tl, out_dtype))
    torch.testing.assert_close(out, a @ b.transpose(1, 2), rtol=1e-3, atol=1e-2)


@triton.jit
def scaled(a, b, scales, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = tl.load(a + i[:, None] * (K // 2) + tl.arange(0, K // 2)[None, :])
    scale = tl.load(scales + i[:, None] * (K // 32) + tl.arange(0, K // 32)[None, :])
    right = tl.load(b + k[:, None] * N + j[None, :])
    tl.store(out + i[:, None] * N + j[None, :], tl.dot_scaled(left, scale, "e2m1", right, None, "bf16"))


def test_scaled_products_of_four_bits():
    generator = torch.Generator().manual_seed(2)
    packed = torch.randint(0, 256, (32, 32), generator=generator, dtype=torch.uint8)
    scales = torch.randint(120, 132, (32, 2), generator=generator, dtype=torch.uint8)
    b = torch.randn(64, 32, generator=generator).bfloat16()
    out = torch.empty(32, 32, device="cuda")
    scaled[(1,)](packed.cuda(), b.cuda(), scales.cuda(), out, M=32, N=32, K=64)
    values = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    values = torch.cat([values, -values]).double()
    a = torch.stack([values[(packed & 15).long()], values[(packed >> 4).long()]], -1).reshape(32, 64)
    a = a * torch.exp2(scales.double() - 127).repeat_interleave(32, 1)
    torch.testing.assert_close(out.cpu().double(), a @ b.double(), rtol=1e-5, atol=1e-4)

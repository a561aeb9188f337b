"""Reductions, scans, sorting, changes of shape and products of matrices, compared with torch."""

import pytest
import torch

from tests.kernels.triton.fuzzing.files import numbers

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")


@triton.jit
def together(a, n, b, m):
    return a * b, n * b + m


@triton.jit
def scan(x, sums, products, pairs, backwards, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(sums + i, tl.cumsum(a, 0))
    tl.store(backwards + i, tl.cumsum(a, 0, reverse=True))
    tl.store(products + i, tl.cumprod(a, 0))
    first, second = tl.associative_scan((a, a), 0, together)
    tl.store(pairs + i, second)


def test_scans():
    x = numbers(64).abs() * 0.1 + 0.9
    sums, products, pairs, backwards = (torch.empty_like(x) for _ in range(4))
    scan[(1,)](x, sums, products, pairs, backwards, N=64)
    torch.testing.assert_close(sums, x.cumsum(0))
    torch.testing.assert_close(products, x.cumprod(0))
    torch.testing.assert_close(backwards, x.flip(0).cumsum(0).flip(0))
    state, expected = 0.0, []
    for each in x.tolist():  # a linear recurrence
        state = state * each + each
        expected.append(state)
    torch.testing.assert_close(pairs.cpu(), torch.tensor(expected))


@triton.jit
def order(x, out, bins, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(out + i, tl.sort(a))
    tl.store(out + N + i, tl.sort(a, descending=True))
    tl.store(out + 2 * N + i, tl.flip(a, 0))
    tl.store(bins + tl.arange(0, 16), tl.histogram(a & 15, 16))


def test_order():
    x = numbers(64, dtype=torch.int32)
    out = torch.empty(3, 64, dtype=torch.int32, device="cuda")
    bins = torch.empty(16, dtype=torch.int32, device="cuda")
    order[(1,)](x, out, bins, N=64)
    sorted = x.sort().values
    assert torch.equal(out, torch.stack([sorted, sorted.flip(0), x.flip(0)]))
    assert torch.equal(bins.long(), torch.bincount(x & 15, minlength=16))


@triton.jit
def first_largest(a, i, b, j):
    return tl.where(a >= b, a, b), tl.where(a >= b, i, j)


@triton.jit
def places_so_far(x, out, R: tl.constexpr, C: tl.constexpr, REVERSE: tl.constexpr):
    i, j = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    rows = tl.broadcast_to(i.to(tl.int64), [R, C])
    a = tl.load(x + i * C + j)
    tl.store(out + i * C + j, tl.associative_scan((a, rows), 0, first_largest, reverse=REVERSE)[1])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("columns", [1, 4, 32])
def test_scans_of_pairs(columns, reverse):
    x = numbers(8, columns)
    out = torch.empty(8, columns, dtype=torch.int64, device="cuda")
    places_so_far[(1,)](x, out, R=8, C=columns, REVERSE=reverse)
    expected = (x.flip(0) if reverse else x).cummax(0).indices
    assert torch.equal(out, 7 - expected.flip(0) if reverse else expected)


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

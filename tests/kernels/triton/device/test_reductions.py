"""Reductions, scans, sorting and changes of shape, compared with torch."""

import pytest
import torch

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")


def numbers(*shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(3)
    if dtype.is_floating_point:
        return torch.randn(*shape, generator=generator).to(dtype).cuda()
    return torch.randint(-50, 50, shape, generator=generator).to(dtype).cuda()


@triton.jit
def reduce(x, sums, largest, smallest, places, R: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr):
    i, j = tl.arange(0, R), tl.arange(0, C)
    a = tl.load(x + i[:, None] * C + j[None, :])
    k = j if AXIS == 0 else i
    tl.store(sums + k, tl.sum(a, AXIS))
    tl.store(largest + k, tl.max(a, AXIS))
    tl.store(smallest + k, tl.min(a, AXIS))
    tl.store(places + k, tl.argmax(a, AXIS))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int32])
def test_reductions(dtype, axis):
    x = numbers(32, 64, dtype=dtype)
    count = 32 if axis else 64
    sums, largest, smallest = (torch.empty(count, dtype=dtype, device="cuda") for _ in range(3))
    places = torch.empty(count, dtype=torch.int32, device="cuda")
    reduce[(1,)](x, sums, largest, smallest, places, R=32, C=64, AXIS=axis)
    torch.testing.assert_close(sums, x.sum(axis).to(dtype), rtol=1e-2, atol=0.2)
    assert torch.equal(largest, x.amax(axis))
    assert torch.equal(smallest, x.amin(axis))
    assert torch.equal(x.gather(axis, places.long().unsqueeze(axis)).squeeze(axis), largest)


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
def shapes(x, out, R: tl.constexpr, C: tl.constexpr):
    i, j = tl.arange(0, R), tl.arange(0, C)
    places = i[:, None] * C + j[None, :]
    a = tl.load(x + places)
    tl.store(out + j[:, None] * R + i[None, :], tl.trans(a))
    n = tl.arange(0, R * C)
    out += R * C
    tl.store(out + n, tl.reshape(a, [R * C]) + 1)
    out += R * C
    even, odd = tl.split(tl.reshape(a, [R, C // 2, 2]))
    half = tl.arange(0, C // 2)
    tl.store(out + i[:, None] * C + half[None, :], even)
    tl.store(out + i[:, None] * C + C // 2 + half[None, :], odd)
    out += R * C
    tl.store(out + places, tl.interleave(even, odd))
    out += R * C
    tl.store(out + places, tl.gather(a, (places + 1) % C, 1))
    out += R * C
    tl.store(out + places, tl.broadcast_to(tl.sum(a, 1, keep_dims=True), [R, C]))


def test_shapes():
    x = numbers(16, 32, dtype=torch.int32)
    out = torch.empty(6, 16 * 32, dtype=torch.int32, device="cuda")
    shapes[(1,)](x, out, R=16, C=32)
    halves = torch.cat([x[:, ::2], x[:, 1::2]], 1)
    total = x.sum(1, keepdim=True).int().expand(16, 32)
    expected = [x.t(), x + 1, halves, x, x.roll(-1, 1), total]
    assert torch.equal(out, torch.stack([each.reshape(-1) for each in expected]))


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

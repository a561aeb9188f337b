"""Loads, stores, descriptors and atomic operations."""

import pytest
import torch

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")


@triton.jit
def add_tiles(x, out, R: tl.constexpr, C: tl.constexpr):
    i, j = tl.program_id(0) * R, tl.program_id(1) * C
    out.store([i, j], x.load([i, j]) + 1)


def test_descriptors_of_the_host():
    from triton.tools.tensor_descriptor import TensorDescriptor

    x, out = torch.randn(20, 36, device="cuda"), torch.zeros(20, 36, device="cuda")
    tiles = [TensorDescriptor.from_tensor(each, [8, 16]) for each in (x, out)]
    add_tiles[(3, 3)](*tiles, R=8, C=16)
    assert torch.equal(out, x + 1)


@triton.jit
def transpose_tiles(x, out, rows, columns, R: tl.constexpr, C: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [R, C])
    target = tl.make_tensor_descriptor(out, [columns, rows], [rows, 1], [C, R])
    i, j = tl.program_id(0) * R, tl.program_id(1) * C
    target.store([j, i], source.load([i, j]).T)


def test_descriptors_of_the_device():
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    x, out = torch.randn(20, 36, device="cuda"), torch.zeros(36, 20, device="cuda")
    transpose_tiles[(3, 3)](x, out, 20, 36, R=8, C=16)
    assert torch.equal(out, x.t())


@triton.jit
def atomics(out, x, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + tl.program_id(0) * N + i)
    tl.atomic_add(out + i, a)
    tl.atomic_max(out + N + i, a)
    tl.atomic_min(out + 2 * N + i, a)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, torch.int64])
def test_atomics(dtype):
    x = (torch.randn(64, 128, generator=torch.Generator().manual_seed(1)) * 50).to(dtype).cuda()
    out = torch.zeros(3, 128, dtype=dtype, device="cuda")
    atomics[(64,)](out, x, N=128)
    torch.testing.assert_close(out[0], x.sum(0, dtype=dtype), rtol=1e-5, atol=1e-3)
    assert torch.equal(out[1], x.amax(0).clamp(min=0))
    assert torch.equal(out[2], x.amin(0).clamp(max=0))


@triton.jit
def bits(out, swapped, N: tl.constexpr):
    i = tl.program_id(0)
    tl.atomic_or(out, 1 << i)
    tl.atomic_and(out + 1, ~(1 << i))
    tl.atomic_xor(out + 2, 1 << (i % 3))
    lanes = tl.arange(0, N)
    before = tl.atomic_cas(swapped + lanes, lanes, lanes + 100)
    tl.atomic_add(out + 3, tl.sum((before == lanes).to(tl.int32), 0))


def test_bits_and_swaps():
    out = torch.tensor([0, -1, 0, 0], dtype=torch.int32).cuda()
    swapped = torch.arange(64, dtype=torch.int32).cuda()
    bits[(16,)](out, swapped, N=64)
    assert out.tolist() == [0xFFFF, -0x10000, 0b110, 64]
    assert torch.equal(swapped.cpu(), torch.arange(64, dtype=torch.int32) + 100)


@triton.jit
def counter(out, tickets):
    ticket = tl.atomic_add(out, 1)
    tl.store(tickets + ticket, tl.program_id(0))


def test_what_an_atomic_operation_returns():
    out = torch.zeros(1, dtype=torch.int32, device="cuda")
    tickets = torch.full((300,), -1, dtype=torch.int32, device="cuda")
    counter[(300,)](out, tickets)
    assert sorted(tickets.tolist()) == list(range(300))

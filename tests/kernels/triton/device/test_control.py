"""Loops, branches and functions of a kernel."""

import pytest
import torch

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")


def integers(*shape):
    return torch.zeros(*shape, dtype=torch.int32, device="cuda")


@triton.jit
def gcd(a, b):
    while b != 0:
        a, b = b, a % b
    return a


@triton.jit
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@triton.jit
def loops(out):
    i = tl.program_id(0)
    tl.store(out + 2 * i, gcd(i + 12, i * 0 + 18))
    tl.store(out + 2 * i + 1, collatz(i + 1))


def test_while():
    import math

    out = integers(20, 2)
    loops[(20,)](out)
    for i, (divisor, steps) in enumerate(out.tolist()):
        n, count = i + 1, 0
        while n != 1:
            n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
        assert (divisor, steps) == (math.gcd(i + 12, i * 0 + 18), count)


@triton.jit
def early(x, out, limit):
    i = tl.program_id(0)
    if i >= limit:
        return
    value = tl.load(x + i)
    if value < 0:
        tl.store(out + i, -1)
        return
    tl.store(out + i, value * 2)


def test_early_return():
    x, out = torch.tensor([3, -4, 5, 6, -7], dtype=torch.int32).cuda(), integers(5) + 9
    early[(5,)](x, out, 4)
    assert out.tolist() == [6, -1, 10, 12, 9]


@triton.jit
def nested(out, rows, columns, N: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.zeros([N], tl.int32)
    swapped = i
    other = i * 10
    for row in range(1, rows, 2):
        for column in tl.range(columns, 0, -1):
            total += row * column
        if row % 3 == 0:
            total -= i
        else:
            total += 1
        swapped, other = other, swapped
    for k in tl.static_range(3):
        total += k
    tl.store(out + i, total)
    tl.store(out + N + i, swapped)
    tl.store(out + 2 * N + i, other)


@pytest.mark.parametrize("rows", [0, 1, 6, 7])
def test_nested_loops(rows):
    out = integers(3, 16)
    nested[(1,)](out, rows, 5, N=16)
    i = torch.arange(16)
    total, swapped, other = torch.zeros(16, dtype=torch.long), i, i * 10
    for row in range(1, rows, 2):
        total = total + row * 15
        total = total - i if row % 3 == 0 else total + 1
        swapped, other = other, swapped
    assert torch.equal(out.cpu().long(), torch.stack([total + 3, swapped, other]))


@triton.jit
def moving(x, out, steps, stride, N: tl.constexpr):
    places = x + tl.arange(0, N)
    total = tl.zeros([N], tl.float32)
    for _ in range(steps):
        total += tl.load(places)
        places += stride
    tl.store(out + tl.arange(0, N), total)
    tl.store(out + N + tl.arange(0, N), tl.load(places - stride))


def test_pointers_that_move():
    x, out = torch.randn(10, 32, device="cuda"), torch.empty(2, 32, device="cuda")
    moving[(1,)](x, out, 10, 32, N=32)
    torch.testing.assert_close(out, torch.stack([x.sum(0), x[-1]]))


@triton.jit
def exchange(lock, total):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total, volatile=True) + 1)
    tl.atomic_xchg(lock, 0)


def test_lock():
    lock, total = integers(1), integers(1)
    exchange[(500,)](lock, total)
    assert total.item() == 500


@triton.jit
def wait_for_next(flags):
    i = tl.program_id(0)
    if i < tl.num_programs(0) - 1:
        while tl.atomic_add(flags + i + 1, 0) == 0:
            pass
    tl.atomic_xchg(flags + i, 1)


def test_instances_that_wait_for_later_ones():
    flags = integers(40)
    wait_for_next[(40,)](flags)
    assert flags.sum() == 40


@triton.jit
def growing_steps(out, turns, N: tl.constexpr):
    places, step = tl.arange(0, N), 1
    for _ in range(turns):
        places += step
        step += 1
    tl.store(out + tl.arange(0, N), places)


def test_a_tensor_that_moves_by_a_carried_scalar():
    out = integers(4)
    growing_steps[(1,)](out, 3, N=4)
    assert out.tolist() == [6, 7, 8, 9]


@triton.jit
def doubling_stride(x, out, turns, N: tl.constexpr):
    pointers, stride = x + tl.arange(0, N), 1
    total = tl.zeros([N], tl.int32)
    for _ in range(turns):
        total += tl.load(pointers)
        pointers += stride
        stride = stride * 2
    tl.store(out + tl.arange(0, N), total)


def test_pointers_that_move_by_a_doubling_stride():
    x, out = torch.arange(64, dtype=torch.int32, device="cuda"), integers(4)
    doubling_stride[(1,)](x, out, 4, N=4)
    assert out.tolist() == [0 + 1 + 3 + 7, 4 + 11, 8 + 11, 12 + 11]


@triton.jit
def exchanged_strides(x, out, turns, N: tl.constexpr):
    there, back = x + tl.arange(0, N), x + tl.arange(0, N)
    first, second = 1, 10
    for _ in range(turns):
        there += first
        back += second
        first, second = second, first
    tl.store(out + tl.arange(0, N), tl.load(there))
    tl.store(out + N + tl.arange(0, N), tl.load(back))


def test_pointers_that_move_by_scalars_that_change_places():
    x, out = torch.arange(64, dtype=torch.int32, device="cuda"), integers(2, 4)
    exchanged_strides[(1,)](x, out, 3, N=4)
    assert out.tolist() == [[12, 13, 14, 15], [21, 22, 23, 24]]

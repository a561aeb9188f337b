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

"""Kernels in Triton, wrong or right by their last argument: prints what launches of those named end with."""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def mask(x, out, n, block: tl.constexpr, right: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    if right:
        tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)
    else:
        tl.store(out + i, tl.load(x + i))


@triton.jit
def mask_of_a_row(x, out, n, block: tl.constexpr, right: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, block)
    value = tl.load(x + row * n + column, mask=column < (n if right else block), other=0.0)
    tl.store(out + row * n + column, value, mask=column < n)


@triton.jit
def mask_of_the_store(x, out, n, block: tl.constexpr, right: tl.constexpr):
    i = tl.arange(0, block)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, value, mask=i < (n if right else n + 1))


@triton.jit
def atomic(x, out, n, block: tl.constexpr, right: tl.constexpr):
    tl.atomic_add(out + (n - 1 if right else n), 1.0)


@triton.jit
def compare_and_swap(x, out, n, block: tl.constexpr, right: tl.constexpr):
    tl.atomic_cas(out.to(tl.pointer_type(tl.int32)) + (n - 1 if right else n), 0, 1)


@triton.jit
def pointer_in_a_loop(x, out, n, block: tl.constexpr, right: tl.constexpr):
    p = out + tl.arange(0, 4)
    for turn in range(25 if right else 26):
        tl.store(p, turn)
        p += 4


@triton.jit
def unfilled_sum(x, out, n, block: tl.constexpr, right: tl.constexpr):
    i = tl.arange(0, block)
    if right:
        tl.store(out + i, 0.0, mask=i < n)
    tl.store(out + i, tl.load(out + i, mask=i < n) + tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def unfilled_counter(x, out, n, block: tl.constexpr, right: tl.constexpr):
    if right:
        tl.store(out, 0.0)
    tl.atomic_add(out, 1.0)


@triton.jit
def unfilled_rest(x, out, n, block: tl.constexpr, right: tl.constexpr):
    i = tl.arange(0, block)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n // 2)
    total = tl.sum(tl.load(out + i, mask=i < (n // 2 if right else n), other=0.0))
    tl.store(out, total)


@triton.jit
def racing_sum(x, out, n, block: tl.constexpr, right: tl.constexpr):
    place = out + tl.program_id(0) % 2
    if right:
        tl.atomic_add(place, 1.0)
    else:
        tl.store(place, tl.load(place) + 1)


@triton.jit
def racing_tiles(x, out, n, block: tl.constexpr, right: tl.constexpr):
    i = tl.program_id(0) * (block if right else block - 8) + tl.arange(0, block)
    tl.store(out + i, i.to(tl.float32) + tl.program_id(0), mask=i < n)


@triton.jit
def racing_shift(x, out, n, block: tl.constexpr, right: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    value = tl.load((x if right else out) + i + 1, mask=i < n - 1, other=0.0)
    tl.store(out + i, value + 1, mask=i < n)


@triton.jit
def racing_maximum(x, out, n, block: tl.constexpr, right: tl.constexpr):
    tl.store(out, 7.0 if right else tl.program_id(0).to(tl.float32))


@triton.jit
def racing_update(x, out, n, block: tl.constexpr, right: tl.constexpr):
    lock = (out + n - 1).to(tl.pointer_type(tl.int32))
    if right:
        while tl.atomic_cas(lock, 0, 1) == 1:
            pass
    tl.store(out, tl.load(out) + 1)
    if right:
        tl.atomic_xchg(lock, 0)


@triton.jit
def racing_halves(x, out, n, block: tl.constexpr, right: tl.constexpr):
    halves = out.to(tl.pointer_type(tl.float16))
    tl.store(halves + tl.program_id(0) // (1 if right else 2), tl.program_id(0).to(tl.float16))


KERNELS = {
    **{"mask": (mask, 4, 32), "mask_of_a_row": (mask_of_a_row, 1, 128), "atomic": (atomic, 1, 1)},
    **{"mask_of_the_store": (mask_of_the_store, 1, 128), "compare_and_swap": (compare_and_swap, 1, 1)},
    "pointer_in_a_loop": (pointer_in_a_loop, 1, 1),
    **{"unfilled_sum": (unfilled_sum, 1, 128), "unfilled_counter": (unfilled_counter, 1, 1)},
    "unfilled_rest": (unfilled_rest, 1, 128),
    **{"racing_sum": (racing_sum, 4, 1), "racing_tiles": (racing_tiles, 4, 32)},
    **{"racing_shift": (racing_shift, 4, 32), "racing_maximum": (racing_maximum, 4, 1)},
    **{"racing_update": (racing_update, 4, 1), "racing_halves": (racing_halves, 4, 1)},
}
for name in sys.argv[1:]:
    kernel, instances, block = KERNELS[name]
    for right in (False, True):
        made = torch.empty if name.startswith("unfilled") else torch.zeros
        x, out = torch.ones(100, device="cuda"), made(100, device="cuda")
        try:
            kernel[(instances,)](x, out, 100, block, right)
            text = ""
        except RuntimeError as error:
            text = str(error)
        print("right" if right else "wrong", name, text)

"""Atomic operations, halves, vector types and mathematics, compared with torch."""

import functools
import operator

import pytest
import torch

from tests.kernels.extensions.device.corpus import call, cuda

KINDS = {"float": torch.float32, "double": torch.float64, "int": torch.int32, "half": torch.float16}


@pytest.mark.parametrize("kind", KINDS)
def test_atomic_addition(kind):
    values = torch.randint(-4, 5, (400,)).to(KINDS[kind]).cuda()
    out = torch.zeros(1, device="cuda", dtype=KINDS[kind])
    call("numbers", f"launch_add_{kind}", values, out, 400)
    assert out[0] == values.sum()


def test_every_other_atomic_operation():
    values = torch.randint(1, 1 << 20, (200,), dtype=torch.int32)
    out = torch.tensor([0, 1 << 30, 0, -1, 0, 0], device="cuda", dtype=torch.int32)
    wrapped = torch.tensor([0, 5], device="cuda", dtype=torch.int32)
    wide = torch.zeros(1, device="cuda", dtype=torch.int64)
    call("numbers", "launch_atomics", values.cuda(), out, wrapped, wide, 200)
    numbers = values.tolist()
    bits = [functools.reduce(each, numbers) for each in (operator.or_, operator.and_, operator.xor)]
    assert out.tolist() == [max(numbers), min(numbers), *bits, -sum(numbers)]
    assert wrapped.tolist() == [0, 5]
    assert int(wide) == max(numbers) << 32


def test_addition_by_compare_and_swap():
    values = cuda(64, dtype=torch.float64)
    out = torch.zeros(1, device="cuda", dtype=torch.float64)
    call("numbers", "launch_add_swapping", values, out)
    torch.testing.assert_close(out[0], values.sum())


def test_half():
    values, out = cuda(64, dtype=torch.float16), torch.zeros(4, 64, device="cuda", dtype=torch.float16)
    call("numbers", "launch_halves", values, out, 64)
    wide = values.float()
    expected = [(wide * wide + 1.5).half(), (wide / 3).half(), wide.exp().half()]
    torch.testing.assert_close(out[:3], torch.stack(expected), rtol=1e-3, atol=0)
    assert torch.equal(out[3].view(-1, 2), values.view(-1, 2) + values[:2])


def test_conversion_to_half_rounds_as_torch():
    edges = torch.tensor(
        [65519.0, 65520.0, -70000.0, 6e-8, 2.9e-8, 1e-9, 0.0, -0.0, float("inf"), 1.00048828125]
    )
    values = torch.cat([edges, torch.randn(54) * 1e-5]).half()
    out = torch.zeros(4, 64, device="cuda", dtype=torch.float16)
    call("numbers", "launch_halves", values.cuda(), out, 64)
    assert torch.equal(out[1].cpu(), (values.float() / 3).half())


def test_bfloat16():
    values, out = cuda(64, dtype=torch.bfloat16), torch.zeros(2, 64, device="cuda", dtype=torch.bfloat16)
    call("numbers", "launch_brains", values, out, 64)
    assert torch.equal(out, torch.stack([values * values, values + 1]))


def test_vector_types():
    values, out = cuda(16, 4), torch.empty(16, 4, device="cuda")
    call("numbers", "launch_vectors", values, out, 16)
    x, y, z, w = values.unbind(1)
    assert torch.equal(out, torch.stack([w, z, y.clamp(0), x.clamp(max=1)], 1))


def test_mathematics():
    x, out = cuda(64), torch.empty(6, 64, device="cuda")
    call("numbers", "launch_mathematics", x, out, 64)
    numbers = range(64)
    bits = [bin(i).count("1") + 32 - i.bit_length() + (i & -i).bit_length() + _reversed(i) for i in numbers]
    expected = [
        (x.abs() + 1).rsqrt(),
        x.exp() + (x.abs() + 1).log(),
        torch.special.ndtr(x),
        x.clamp(0, 1) + x.round(),
        x.sin() * x.cos() + x,
        torch.tensor(bits, device="cuda", dtype=torch.float32),
    ]
    torch.testing.assert_close(out, torch.stack(expected))


def _reversed(number):
    return int(f"{number:032b}"[::-1], 2) >> 28

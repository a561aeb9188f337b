"""The subset of thrust, compared with torch."""

import ctypes

import pytest
import torch

from tests.kernels.extensions.device.corpus import call, captured, cuda, library


def number(function: str, *tensors: torch.Tensor) -> float:
    """Call a function that returns a number, with tensors and the size of the first."""
    found = getattr(library("vectors"), function)
    found.restype = ctypes.c_float if function in ("squares", "dot") else ctypes.c_int
    return found(*(ctypes.c_void_p(each.data_ptr()) for each in tensors), ctypes.c_int(len(tensors[0])))


def test_order_by_key():
    keys, places = cuda(300).round(decimals=1), torch.empty(300, device="cuda", dtype=torch.int64)
    expected, indices = keys.sort(descending=True, stable=True)
    call("vectors", "order", keys, places, 300)
    assert torch.equal(keys, expected)
    assert torch.equal(places, indices)


def test_reductions():
    x, y = cuda(200), cuda(200).flip(0).contiguous()
    assert number("squares", x) == pytest.approx(float(x.square().sum()), rel=1e-5)
    assert number("dot", x, y) == pytest.approx(float((x * y).sum()), rel=1e-4, abs=1e-5)


def test_scans():
    values = torch.arange(50, device="cuda", dtype=torch.int32) % 7
    before, sums = torch.empty_like(values), values.cumsum(0).int()
    expected = sums - values
    call("vectors", "scans", values, before, 50)
    assert torch.equal(values, sums)
    assert torch.equal(before, expected)


def test_a_scan_from_the_end():
    values = torch.arange(50, device="cuda", dtype=torch.int32) % 7
    sums = torch.empty_like(values)
    call("vectors", "suffix_sums", values, sums, 50)
    assert torch.equal(sums, values.flip(0).cumsum(0).flip(0).int())


def test_what_is_changed_as_it_is_written():
    x, y = torch.arange(20, dtype=torch.int32).cuda(), torch.full((20,), 3, dtype=torch.int32).cuda()
    halves, turned = torch.zeros_like(x), torch.zeros_like(x)
    call("vectors", "outputs", x, y, halves, turned, 20)
    assert torch.equal(halves, (x + 3) // 2)
    expected = halves.flip(0)
    expected[0] += 1
    assert torch.equal(turned, expected)


def test_runs_of_equal_values():
    values = torch.arange(100, device="cuda", dtype=torch.int32) ** 2 % 13
    keys, counts = torch.empty_like(values), torch.empty_like(values)
    expected, occurrences = values.unique(return_counts=True)
    assert number("runs", values, keys, counts) == len(expected)
    assert torch.equal(keys[: len(expected)], expected)
    assert torch.equal(counts[: len(expected)].long(), occurrences)


def test_selection_by_a_stencil():
    x, places = cuda(64), torch.empty(64, device="cuda", dtype=torch.int32)
    expected = x.gt(0).nonzero().flatten()
    assert number("positive", x, places) == len(expected)
    assert torch.equal(places[: len(expected)].long(), expected)


def test_a_graph_refuses_what_it_would_not_hold():
    x, places = cuda(4), torch.zeros(4, device="cuda", dtype=torch.int64)
    number("positive", x, places.int())  # built before the capture
    assert captured(number, "order", x, places) == 1


@pytest.mark.parametrize(("seed", "start"), [(0, 1), (2147483647, 1), (123, 123)])
def test_the_numbers_of_a_generator(seed, start):
    reals, whole = torch.empty(400, device="cuda"), torch.empty(400, device="cuda", dtype=torch.int32)
    call("vectors", "draw", seed, 9602, reals, whole, 50)
    state, states = start, []
    for _ in range(9602 + 400):
        state = state * 48271 % (2**31 - 1)
        states.append(state)
    if start == 1:
        assert states[9999] == 399268537  # the standard's 10000th number of minstd_rand
    drawn = torch.tensor(states[9602:])
    single = (drawn - 1).float() / (torch.tensor(1.0) + torch.tensor(2**31 - 3).float())
    assert torch.equal(reals.cpu(), single * 5.0 - 2.0)
    assert torch.equal(whole.cpu(), ((drawn - 1).double() / (2.0**31 - 2) * 11 - 5).int())


def test_shuffles():
    values, copied = torch.arange(200).int().cuda(), torch.zeros(200, device="cuda", dtype=torch.int32)
    call("vectors", "shuffled", values, copied, 200)
    for each in (values, copied):
        assert not torch.equal(each.cpu(), torch.arange(200).int())
        assert torch.equal(each.sort().values.cpu(), torch.arange(200).int())

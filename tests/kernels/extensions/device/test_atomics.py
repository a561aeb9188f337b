"""Atomic objects of libcu++, by their documented meaning."""

import pytest
import torch

from tests.kernels.extensions.device.corpus import call


@pytest.mark.parametrize(
    ("function", "dtype"),
    [("launch_integers", torch.int32), ("launch_wide", torch.int64), ("launch_doubles", torch.float64)],
)
def test_each_operation(function, dtype):
    counts = torch.zeros(6, device="cuda", dtype=dtype)
    call("atomics", function, counts)
    total = sum(range(256))
    assert counts.tolist() == [total, -total, 256, 255, -255, 512]


def test_bits():
    words = torch.tensor([0, -1, 0, 5, 0], device="cuda", dtype=torch.int32)
    call("atomics", "launch_bits", words)
    # the lowest bit changes with each of 32 threads, and thread 0's own is that one
    assert words.tolist() == [-1, 0, -2, 9, 5]


def test_locks_and_blocks_that_wait_for_each_other():
    counter, sense = (torch.zeros(1, device="cuda", dtype=torch.int32) for _ in range(2))
    sums = torch.zeros(6, device="cuda", dtype=torch.int32)
    call("atomics", "launch_rounds", counter, sense, sums)
    assert [counter.item(), sense.item(), *sums.tolist()] == [0, 1, *[3 * 64] * 6]

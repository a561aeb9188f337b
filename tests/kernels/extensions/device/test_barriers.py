"""Barriers and semaphores of libcu++, by their documented meaning."""

import torch

from tests.kernels.extensions.device.corpus import call


def integers(*shape):
    return torch.zeros(*shape, device="cuda", dtype=torch.int32)


def rounds(values, count):
    for _ in range(count):
        values = values.roll(-1) + values.roll(1)
    return values


def test_arrivals_and_waits_of_a_block():
    values, out = torch.arange(100, device="cuda", dtype=torch.int32) % 7, integers(100)
    call("barriers", "launch_rounds", values, out, 100, 9)
    assert torch.equal(out, rounds(values, 9))


def test_threads_that_drop_out():
    out = integers(32)
    call("barriers", "launch_dropping", out)
    assert out.tolist() == [0, *range(2, 33)]


def test_a_function_that_completes_each_phase():
    out = integers(64)
    call("barriers", "launch_completed", out)
    assert out.tolist() == [1] * 64


def test_a_barrier_among_blocks():
    values, out = torch.arange(128, device="cuda", dtype=torch.int32) % 5, integers(128)
    expected = rounds(values, 5)
    assert call("barriers", "launch_among_blocks", values, out, 5) == 0
    assert torch.equal(out, expected)


def test_copies_that_a_phase_waits_for():
    values, out = torch.arange(100, device="cuda", dtype=torch.int32), integers(101)
    call("barriers", "launch_copied", values, out, 100)
    assert out.tolist() == [0, *range(99, -1, -1)]


def test_semaphores():
    most, total = integers(1), integers(1)
    call("barriers", "launch_semaphores", most, total)
    assert [most.item(), total.item()] == [3, 64]


def test_threads_that_wait_for_one_that_is_not_there():
    said = torch.zeros(80, dtype=torch.uint8)
    length = call("barriers", "launch_alone", said, 80)
    assert bytes(said[:length].tolist()) == b"the threads of a block wait for each other"

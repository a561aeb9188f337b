"""Blocks that wait for each other: barriers of a grid, locks, and flags in memory."""

import torch

from tests.kernels.extensions.device.corpus import call

NOT_SUPPORTED, TOO_LARGE = 801, 720  # cudaErrorNotSupported, cudaErrorCooperativeLaunchTooLarge


def integers(*shape):
    return torch.zeros(*shape, device="cuda", dtype=torch.int32)


def test_a_barrier_of_the_grid():
    values, out = torch.arange(8 * 32, device="cuda", dtype=torch.int32) % 7, integers(8 * 32)
    expected = values.cpu()
    assert call("grids", "launch_rounds", values, out, 5, 8) == 0
    for _ in range(5):
        expected = expected.roll(-1) + expected.roll(1)
    assert torch.equal(out.cpu(), expected)


def test_a_barrier_by_names_of_cudas_own():
    barrier, values, out = (
        integers(1),
        torch.arange(4 * 32, device="cuda", dtype=torch.int32) % 7,
        integers(4 * 32),
    )
    expected = values.cpu()
    call("grids", "launch_meetings", barrier, values, out, 5)
    for _ in range(5):
        expected = expected.roll(-1) + expected.roll(1)
    assert torch.equal(out.cpu(), expected)


def test_a_launch_by_its_configuration():
    values, out = torch.arange(4 * 32, device="cuda", dtype=torch.int32), integers(4 * 32)
    expected = values.roll(-1) + values.roll(1)
    assert call("grids", "launch_rounds_by_configuration", values, out, 1, 4, 1) == 0
    assert torch.equal(out, expected)
    assert call("grids", "launch_rounds_by_configuration", values, out, 1, 4, 2) == NOT_SUPPORTED


def test_a_launch_by_a_variable():
    out = integers(64)
    assert call("grids", "launch_by_a_variable", out, 7) == 0
    assert out.tolist() == [7] * 64


def test_more_blocks_than_live_at_once_are_refused():
    assert call("grids", "launch_rounds", integers(32), integers(32), 1, 1_000_000) == TOO_LARGE


def test_a_block_that_waits_for_a_later_one():
    lock, out = integers(1), integers(12, 64)
    call("grids", "launch_chained", lock, out)
    expected = torch.arange(11, -1, -1)[:, None] * 100 + torch.arange(64)
    assert torch.equal(out.long().cpu(), expected)


def test_locks_and_flags():
    lock, flag, total = integers(1), integers(1), integers(1)
    call("grids", "launch_locked", lock, flag, total)
    assert [total.item(), lock.item(), flag.item()] == [24, 0, 7]

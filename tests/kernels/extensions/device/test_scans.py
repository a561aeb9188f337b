"""CUB's scans of several items of each thread, the parts of its scans, and counts of equal values."""

import itertools

import torch

from tests.kernels.extensions.device.corpus import call, cuda


def integers(*shape):
    return torch.zeros(*shape, device="cuda", dtype=torch.int32)


def after(f, g):
    """Return f and then g, each x -> a x + b."""
    return [(f[0] * g[0] + 2**31) % 2**32 - 2**31, (f[1] * g[0] + g[1] + 2**31) % 2**32 - 2**31]


def test_scans_whose_operator_has_an_order():
    n = 64 * 3
    lines, first = [[i % 3 - 1 or 2, i % 7] for i in range(n)], [1, 5]
    out, totals = integers(6, n, 2), integers(4, 2)
    call("scans", "launch_scans", torch.tensor(lines, dtype=torch.int32).cuda(), out, totals)
    alone = list(itertools.accumulate(lines, after))
    begun = list(itertools.accumulate([first, *lines], after))
    expected = [alone, begun[1:], begun[:-1], begun[1:], begun[:-1], begun[:-1]]
    assert [row == other for row, other in zip(out.tolist(), expected, strict=True)] == [True] * 6
    assert totals.tolist() == [alone[-1]] * 4


def test_sums_of_several_items():
    values, out, totals = torch.arange(128).float().cuda() % 11, torch.empty(2, 128, device="cuda"), cuda(3)
    values[-1] = float("inf")  # of which nothing can be taken away again
    call("scans", "launch_sums", values, out, totals)
    assert out[0].tolist() == [0, *values.cpu().cumsum(0)[:-1].tolist()]
    assert totals[:2].tolist() == [float("inf")] * 2
    firsts = values.cpu()[::4]
    most = torch.cat([torch.tensor([2.0]), firsts.cummax(0).values[:-1].clamp(min=2)])
    assert torch.equal(out[1].cpu()[::4], most)
    assert totals[2] == firsts.max()


def test_a_scan_by_segments_of_a_warp():
    values, out = cuda(128, dtype=torch.float64), torch.empty(128, device="cuda", dtype=torch.float64)
    call("scans", "launch_reversed", values, out)
    torch.testing.assert_close(out, values.flip(0).cumsum(0).flip(0))


def test_shuffles_within_parts_of_a_warp():
    out, lane = integers(3, 32), torch.arange(32)
    call("scans", "launch_shuffled", out)
    up = torch.where(lane % 8 >= 4, lane - 3, lane)
    down = torch.where(lane % 8 <= 4, lane + 2, lane)
    assert torch.equal(out.cpu().long(), torch.stack([up, down, lane // 8 * 8 + 5]))


def test_arrangements_of_a_block():
    out, place = integers(6, 192), torch.arange(192)
    call("scans", "launch_exchanged", out)
    striped, blocked = place.view(3, 64).T.flatten(), place.view(64, 3).T.flatten()
    warps = place.view(2, 3, 32).transpose(1, 2).flatten()
    from_warps = place.view(2, 32, 3).transpose(1, 2).flatten()
    turned = place.flip(0)
    expected = torch.stack([striped, blocked, warps, from_warps, turned, turned[striped]])
    assert torch.equal(out.cpu().long(), expected)


def test_histograms_of_a_block():
    values, out = torch.arange(128).pow(2).remainder(13).byte(), integers(2, 16)
    call("scans", "launch_counted", values.cuda(), out)
    expected = values.long().bincount(minlength=16) * 2
    assert torch.equal(out.cpu().long(), expected.expand(2, 16))


def test_runs_of_equal_values():
    values = torch.tensor([4, 4, 4, 1, 2, 2, 4, 7, 7], dtype=torch.int32)
    unique, counts, found = integers(2, 9), integers(2, 9), integers(2)
    call("scans", "launch_runs", values.cuda(), unique, counts, found, 9)
    assert found.tolist() == [5, 3]
    assert (unique[0, :5].tolist(), counts[0, :5].tolist()) == ([4, 1, 2, 4, 7], [3, 1, 2, 1, 2])
    assert (unique[1, :3].tolist(), counts[1, :3].tolist()) == ([0, 4, 7], [3, 2, 2])

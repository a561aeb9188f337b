"""Shuffles, votes and cooperative groups, compared with torch."""

import torch

from tests.kernels.extensions.device.corpus import call, cuda


def integers(*shape):
    return torch.empty(*shape, device="cuda", dtype=torch.int32)


def test_sum_by_shuffles():
    values, out = cuda(1000), torch.zeros(1, device="cuda")
    call("warps", "launch_block_sum", values, out, 1000)
    torch.testing.assert_close(out[0], values.sum())


def test_each_shuffle_and_vote():
    lanes, out = torch.arange(32), integers(8, 32)
    values = lanes + 20
    call("warps", "launch_shuffles", values.int().cuda(), out)
    source, odd = lanes // 8 * 8 + 3, sum(1 << i for i in range(32) if i % 2)
    down = torch.where(lanes % 16 == 15, lanes, lanes + 1)
    expected = [values[source], values[(lanes - 2).clamp(0)], values[down], values[lanes ^ 5]]
    expected[1][:2] = values[:2]
    found = out.cpu().long()
    assert torch.equal(found[:4], torch.stack(expected))
    assert set(found[4].tolist()) == {odd - (1 << 32)}
    assert set(found[5].tolist()) == {3}
    masks = [sum(1 << i for i in range(32) if (i + 20) % 4 == v % 4) for v in values.tolist()]
    assert [mask & 0xFFFFFFFF for mask in found[6].tolist()] == masks
    assert set(found[7].tolist()) == {51}


def test_halves_of_a_warp_that_go_different_ways():
    values, out = torch.arange(32), integers(64)
    call("warps", "launch_divergent", values.int().cuda(), out)
    low = values[:16].clone()
    low[:8] += values[8:16]
    low[8:] += values[8:16]
    shifted = torch.cat([low[4:], low[12:]])
    expected = torch.cat([31 - values[16:], low + shifted])
    assert torch.equal(out[:32].cpu().long(), expected)
    assert set(out[32::3].tolist()[:11]) == {11}


def test_tiles_of_a_block():
    values, out = torch.arange(64), torch.zeros(65, device="cuda", dtype=torch.int32)
    call("warps", "launch_tiles", values.int().cuda(), out)
    tiles = values.view(8, 8)
    expected = (tiles.sum(1, keepdim=True) + tiles[:, :1]).expand(8, 8).reshape(-1)
    assert torch.equal(out[:64].cpu().long(), expected)
    assert int(out[64]) == 32

"""Shared memory, barriers, shuffles, votes, cooperative groups and the subset of CUB, compared with torch."""

import torch

from tests.kernels.extensions.device.corpus import call, cuda


def test_static_shared_memory():
    values, out = cuda(128), torch.empty(128, device="cuda")
    call("blocks", "launch_reverse", values, out)
    assert torch.equal(out.view(2, 64), values.view(2, 64).flip(1))


def test_dynamic_shared_memory_and_barriers_in_a_loop():
    values, out = cuda(1000), torch.empty(8, device="cuda")
    call("blocks", "launch_sum", values, out, 1000, 8, 128)
    torch.testing.assert_close(out.sum(), values.sum())


def test_dynamic_shared_memory_with_sizes_and_a_launch_in_braces():
    values, out = (
        torch.arange(12, device="cuda", dtype=torch.int32),
        torch.empty(4, 3, device="cuda", dtype=torch.int32),
    )
    call("blocks", "launch_turned", values, out)
    assert torch.equal(out, values.view(3, 4).T + 48)


def test_threads_that_leave_before_a_barrier():
    values, out = cuda(100, dtype=torch.float64), torch.empty(100, device="cuda", dtype=torch.float64)
    call("blocks", "launch_cumulate", values, out, 100)
    torch.testing.assert_close(out, values.cumsum(0))


def test_no_thread_runs_ahead_into_the_next_round():
    values, out = cuda(500), torch.empty(40, device="cuda", dtype=torch.int32)
    expected = values.argsort(descending=True)[:40]
    call("blocks", "launch_maxima", values, out, 500, 40)
    assert torch.equal(out.long(), expected)


def test_no_thread_overwrites_what_others_read_after_a_loop():
    values, out = cuda(64).mul(1000).int(), torch.empty(64, device="cuda", dtype=torch.int32)
    call("blocks", "launch_away_from_most", values, out)
    assert torch.equal(out, (values.max() - values).flip(0))


def test_places_of_threads_in_three_dimensions():
    out = torch.empty(12, 16, device="cuda", dtype=torch.int32)
    call("blocks", "launch_places", out)
    blocks, threads = torch.arange(12)[:, None], torch.arange(16)
    assert torch.equal(out.cpu(), (blocks * 1000 + threads).int())


def test_each_thread_changes_parameters_of_its_own():
    out = torch.empty(12, device="cuda", dtype=torch.int32)
    call("blocks", "launch_changed", out)
    assert out.view(3, 4).tolist() == [[10, 9, 8, 7], [20, 19, 18, 17], [20, 19, 18, 17]]


def test_a_barrier_after_many_threads_have_ended():
    out = torch.empty(5, 20, device="cuda", dtype=torch.int32)
    call("blocks", "launch_late", out)
    assert out[:3].tolist() == [[-thread for thread in range(20)]] * 3
    assert set(out[3:].flatten().tolist()) == {40}


def test_variables_with_names_of_built_in_ones():
    out = torch.zeros(12, device="cuda", dtype=torch.int32)
    call("blocks", "launch_named", out)
    assert out.tolist() == [3107 + 10 * thread for thread in range(4)] * 3


def test_what_an_inlined_function_returns_a_pointer_to():
    values = torch.arange(8, device="cuda", dtype=torch.int32)
    out = torch.empty(32, device="cuda", dtype=torch.int32)
    call("blocks", "launch_returned", values, out)
    assert out[16:24].tolist() == [2 * value for value in range(8)]
    assert out[24:].tolist() == [-value for value in range(8)]


def test_constants_and_variables_of_the_device():
    values, out = cuda(32), torch.empty(32, device="cuda")
    weights = torch.tensor([1.0, 2.0, 3.0, 4.0])
    call("blocks", "launch_weighted", values, out, weights)
    torch.testing.assert_close(out.cpu(), values.cpu() * weights.repeat(8))


def test_barriers_that_count():
    values = torch.arange(48, device="cuda", dtype=torch.int32) % 10
    out = torch.empty(3, device="cuda", dtype=torch.int32)
    call("blocks", "launch_counted", values, out)
    assert out.tolist() == [int((values > 5).sum()), 1, 1]


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
    low[:8] += values[8:16]  # the others read lanes of the other half, which are not in the mask
    shifted = torch.cat([low[4:], torch.zeros(4, dtype=torch.long)])
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


def test_place_of_a_tile_among_those_of_its_parent():
    out, i = integers(4, 96), torch.arange(96)
    call("warps", "launch_places_of_tiles", out)
    sums = i.view(24, 4).sum(1, keepdim=True).expand(24, 4).reshape(-1)
    expected = torch.stack([i // 32 * 10 + 3, i % 32 // 8 * 10 + 4, i % 8 // 4 * 10 + 2, sums])
    assert torch.equal(out.cpu().long(), expected)


def test_lanes_that_come_together_by_their_labels():
    labels, out = torch.arange(32) * 7 % 3, torch.zeros(96, device="cuda", dtype=torch.int32)
    call("warps", "launch_labels", labels.int().cuda(), out)
    lanes, label = range(32), labels.tolist()
    stay = [lane for lane in lanes if lane % 5 != 4]
    alike = {a: [b for b in stay if a // 16 == b // 16 and label[a] == label[b]] for a in stay}
    near = {a: [b for b in alike[a] if a // 8 == b // 8] for a in stay}
    groups = [[sum(alike.get(a, [])) for a in lanes]]
    groups += [[100 * len(g[a]) + g[a].index(a) if a in g else 0 for a in lanes] for g in (alike, near)]
    assert out.view(3, 32).tolist() == groups


def test_scan_load_store_and_reduction_of_a_block():
    values = torch.arange(128, device="cuda", dtype=torch.int32) * 7 % 31
    out, total = torch.empty_like(values), torch.empty(1, device="cuda", dtype=torch.int32)
    call("collectives", "launch_scan", values, out, total)
    assert torch.equal(out.long(), values.cumsum(0))
    assert int(total) == int(values[::4].sum())


def test_reduction_of_a_warp():
    values, out = cuda(64), torch.empty(2, device="cuda")
    call("collectives", "launch_warps", values, out)
    assert torch.equal(out, values.view(2, 32).amax(1))


def test_a_block_reduces_what_its_threads_have():
    values, out = torch.arange(32, device="cuda", dtype=torch.int32), integers(3)
    call("collectives", "launch_most", values, out)
    assert out.tolist() == [31, 31 * 16, 2**31 - 1]


def test_sorts_of_a_block():
    n = 192
    keys = torch.randint(-9, 9, (n,)).float().div(2)
    keys[:2] = torch.tensor([-0.0, 0.0])  # which CUB takes for equal
    results, places = torch.empty(2, n, device="cuda"), integers(3, n)
    call("collectives", "launch_sorts", keys.cuda(), results, places)
    for descending, (found, order) in enumerate(zip(results.cpu(), places.cpu(), strict=False)):
        expected, indices = keys.sort(stable=True, descending=bool(descending))
        assert torch.equal(found, expected)
        assert torch.equal(order.long(), indices)
    digits = sorted(range(0, n * 37, 37), key=lambda digit: -(digit >> 2 & 7))
    assert places[2].tolist() == digits


def test_sort_of_the_device():
    keys, values = cuda(300), torch.arange(300, device="cuda", dtype=torch.int32)
    keys[:2] = torch.tensor([0.0, -0.0])  # which CUB takes for equal
    sorted_keys, order = torch.empty_like(keys), torch.empty_like(values)
    call("collectives", "device_sort", keys, sorted_keys, values, order, 300)
    expected, indices = keys.sort(stable=True)
    assert torch.equal(sorted_keys, expected)
    assert torch.equal(order.long(), indices)


def test_sorts_of_segments_of_the_device():
    starts, n = torch.tensor([3, 40, 40, 57]), 60
    keys, values = torch.randperm(n).cuda() + (1 << 40), torch.arange(n, device="cuda", dtype=torch.int32)
    results, orders = torch.full((5, n), -1, device="cuda"), integers(2, n)
    call("collectives", "segmented_sorts", keys, results, values, orders, starts.cuda(), 3, n)
    first, last = keys[3:40].sort(), keys[40:57].sort()
    expected = torch.cat([first.values, last.values])
    falling = torch.cat([first.values.flip(0), last.values.flip(0)])
    assert torch.equal(results[:, 3:57], torch.stack([expected, falling, expected, falling, expected]))
    assert results[:4, :3].eq(-1).all()
    assert results[:4, 57:].eq(-1).all()
    assert torch.equal(orders[0, 3:57].long(), torch.cat([first.indices + 3, last.indices + 40]))
    assert torch.equal(orders[1, 3:40].long(), first.indices.flip(0) + 3)


def test_scans_of_the_device_by_key():
    keys, values, out = torch.arange(60) // 7 % 3, torch.arange(60) * 7 % 31, integers(5, 60)
    call("collectives", "device_scans_by_key", keys.int().cuda(), values.int().cuda(), out, 60)
    expected = torch.zeros(4, 60, dtype=torch.long)
    for i in range(60):
        new, far = i % 7 == 0, i == 0 or int(keys[i]) // 2 != int(keys[i - 1]) // 2
        expected[0, i] = values[i] + (0 if new else expected[0, i - 1])
        expected[1, i] = 0 if far else expected[1, i - 1] + values[i - 1]
        expected[2, i] = values[i] if new else max(values[i], expected[2, i - 1])
        expected[3, i] = 5 if new else max(values[i - 1], expected[3, i - 1])
    assert torch.equal(out[:4].cpu().long(), expected)
    assert torch.equal(out[4], out[0])


def test_sum_of_the_device():
    values, out = cuda(300), torch.empty(1, device="cuda")
    call("collectives", "device_sum", values, out, 300)
    torch.testing.assert_close(out[0], values.sum())

"""The subset of CUB, compared with torch."""

import torch

from tests.kernels.extensions.device.corpus import call, cuda


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


def test_sort_of_the_device():
    keys, values = cuda(300), torch.arange(300, device="cuda", dtype=torch.int32)
    sorted_keys, order = torch.empty_like(keys), torch.empty_like(values)
    call("collectives", "device_sort", keys, sorted_keys, values, order, 300)
    expected, indices = keys.sort(stable=True)
    assert torch.equal(sorted_keys, expected)
    assert torch.equal(order.long(), indices)


def test_sum_of_the_device():
    values, out = cuda(300), torch.empty(1, device="cuda")
    call("collectives", "device_sum", values, out, 300)
    torch.testing.assert_close(out[0], values.sum())

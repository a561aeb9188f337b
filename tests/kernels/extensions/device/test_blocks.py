"""Shared memory and barriers, compared with torch."""

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


def test_threads_that_leave_before_a_barrier():
    values, out = cuda(100, dtype=torch.float64), torch.empty(100, device="cuda", dtype=torch.float64)
    call("blocks", "launch_cumulate", values, out, 100)
    torch.testing.assert_close(out, values.cumsum(0))


def test_no_thread_runs_ahead_into_the_next_round():
    values, out = cuda(500), torch.empty(40, device="cuda", dtype=torch.int32)
    expected = values.argsort(descending=True)[:40]
    call("blocks", "launch_maxima", values, out, 500, 40)
    assert torch.equal(out.long(), expected)


def test_places_of_threads_in_three_dimensions():
    out = torch.empty(12, 16, device="cuda", dtype=torch.int32)
    call("blocks", "launch_places", out)
    blocks, threads = torch.arange(12)[:, None], torch.arange(16)
    assert torch.equal(out.cpu(), (blocks * 1000 + threads).int())


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

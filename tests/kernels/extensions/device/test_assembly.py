"""Inline PTX in CUDA C++: operands, memory, shared addresses, lanes and atomics, compared with torch."""

import torch

from tests.kernels.extensions.device.corpus import call, cuda


def integers(*shape):
    return torch.zeros(*shape, device="cuda", dtype=torch.int32)


def test_operands_of_every_constraint():
    values, out = cuda(8), torch.empty(8, device="cuda")
    doubles = torch.arange(8.0, device="cuda", dtype=torch.float64)
    whole, short = (torch.arange(8, device="cuda", dtype=each) for each in (torch.int64, torch.int16))
    expected = doubles + values.double() ** 2
    call("assembly", "launch_registers", values, out, doubles, whole, short)
    assert torch.equal(out, (values + values * 2) * values)
    torch.testing.assert_close(doubles, expected, rtol=1e-15, atol=0)
    place = torch.arange(8)
    sums = place + (values.cpu() * 100).int().long() * -3
    assert torch.equal(whole.cpu(), torch.where(place % 2 == 1, sums, place + 2**32))
    assert short.tolist() == [0, 1, 2, 2, 2, 2, 2, 2]


def test_places_of_a_thread():
    out = integers(2, 64)
    call("assembly", "launch_places", out)
    lanes = torch.arange(64).int() % 32
    expected = torch.arange(2).int()[:, None] * 100 + lanes + 1000 * lanes
    assert torch.equal(out.cpu(), expected)


def test_vectors_of_registers_under_a_predicate():
    values, out = cuda(32), torch.empty(32, device="cuda")
    call("assembly", "launch_vectors", values, out, 5)
    assert torch.equal(out, torch.where(torch.arange(32, device="cuda") < 20, values, 1.0))


def test_copies_to_shared_memory_by_its_addresses():
    values, out = cuda(4, 64, 4), torch.empty(4, 64, device="cuda")
    call("assembly", "launch_copied", values, out, 4)
    values[:, 60:, 2:] = 0
    others = torch.arange(64) ^ 1
    assert torch.equal(out, values[:, others, 1])


def test_a_copy_is_made_when_it_is_waited_for():
    values, out = cuda(2, 64, 4), torch.empty(2, 64, 4, device="cuda")
    call("assembly", "launch_late", values, out)
    values[1, :, 3] = 0
    assert torch.equal(out, values.flip(1))


def test_shifts_of_two_words_by_function_and_by_instruction():
    words, same = torch.tensor([0x12345678, -0x70000001], device="cuda", dtype=torch.int32), integers(40)
    call("assembly", "launch_shifted", words, same)
    assert same.tolist() == [1] * 40


def test_lanes_of_a_warp():
    values = torch.arange(32, device="cuda", dtype=torch.int32) * 7 % 23
    out = integers(6, 32)
    call("assembly", "launch_warps", values, out)
    shuffled, inside, exchanged, votes, largest, equal = out.cpu()
    host, lanes = values.cpu(), torch.arange(32)
    assert torch.equal(shuffled, torch.where(lanes < 28, host.roll(-4), host))
    assert torch.equal(inside, (lanes < 28).int())
    assert torch.equal(exchanged, host[lanes ^ 1])
    ballot = sum(1 << lane for lane in range(32) if host[lane] > 10)
    assert {value % 2**32 for value in votes.tolist()} == {ballot}
    assert set(largest.tolist()) == {int(host.max())}
    same = (host[:, None] % 3 == host % 3).long()
    assert torch.equal(equal.long() % 2**32, (same << lanes).sum(1))


def test_barriers_of_some_threads():
    values = torch.arange(128, device="cuda", dtype=torch.int32) ** 2
    out = integers(128)
    call("assembly", "launch_halves", values, out)
    first, second = values.view(2, 64).flip(1)
    assert torch.equal(out.view(2, 64), torch.stack([first + second, second]))


def test_atomic_operations():
    counts, sums = integers(3), torch.zeros(1, device="cuda")
    halves = torch.zeros(2, device="cuda", dtype=torch.float16)
    wide, exact = (torch.zeros(1, device="cuda", dtype=each) for each in (torch.int64, torch.float64))
    call("assembly", "launch_atomics", counts, sums, halves, wide, exact)
    assert counts.tolist() == [512, 63, -1]
    assert sums.item() == 128
    assert halves.tolist() == [256, 512]
    assert (wide.item(), exact.item()) == (256 << 40, 64)


def test_what_is_negative_becomes_zero():
    values, count = cuda(32, 2), integers(1)
    out = torch.empty(2, 32, 2, device="cuda", dtype=torch.float16)
    sums = torch.empty(32, device="cuda", dtype=torch.int64)
    call("assembly", "launch_rectified", values, values.half(), out, sums, count)
    assert torch.equal(out, values.half().relu().expand(2, -1, -1))
    assert sums.tolist() == [0xFFFFFFFF * place + 0x123456789 for place in range(32)]
    assert count.item() == 32

"""Each device has a generator of its own: seeded, saved and set."""

from __future__ import annotations

import pytest
import torch

pytestmark = pytest.mark.usefixtures("vendor_worker")


def test_seeds_make_draws_repeat() -> None:
    torch.manual_seed(7)
    first = [torch.randn(3, device="npu"), torch.rand(3, device="npu"), torch.randperm(5, device="npu")]
    torch.npu.manual_seed(7)
    again = [torch.randn(3, device="npu"), torch.rand(3, device="npu"), torch.randperm(5, device="npu")]
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first[0], torch.randn(3, device="npu"))


def test_draws_are_those_of_the_real_wheel() -> None:
    torch.manual_seed(0)
    assert torch.randn(3, device="npu").tolist() == pytest.approx([1.5410, -0.2934, -2.1788], abs=1e-4)
    assert torch.rand(3, device="npu").tolist() == pytest.approx([0.5596, 0.5591, 0.0915], abs=1e-4)
    assert torch.randint(0, 9, (5,), device="npu").tolist() == [0, 4, 0, 3, 7]


def test_the_host_keeps_its_own_numbers() -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    torch.nn.functional.dropout(torch.ones(8, device="npu"))
    torch.rand(4, device="npu")
    assert torch.equal(torch.rand(2), expected)


def test_state_is_seed_and_offset() -> None:
    torch.npu.manual_seed(258)
    torch.rand(2, device="npu")
    state = torch.npu.get_rng_state()
    assert state.tolist() == [2, 1, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0]
    expected = torch.rand(2, device="npu")
    torch.npu.set_rng_state(state)
    assert torch.equal(torch.rand(2, device="npu"), expected)
    assert torch.npu.initial_seed() == 258


def test_devices_draw_on_their_own() -> None:
    torch.npu.manual_seed_all(1)
    states = torch.npu.get_rng_state_all()
    torch.rand(2, device="npu:1")
    assert torch.equal(torch.npu.get_rng_state(0), states[0])
    assert not torch.equal(torch.npu.get_rng_state("npu:1"), states[1])
    torch.npu.set_rng_state_all(states)
    assert torch.equal(torch.npu.get_rng_state(1), states[1])


def test_a_generator_of_ones_own() -> None:
    generators = [torch.Generator("npu").manual_seed(5) for _ in range(2)]
    torch.rand(1, device="npu")
    one, other = (torch.randn(4, device="npu", generator=each) for each in generators)
    assert torch.equal(one, other)
    assert (generators[0].device, torch.npu.default_generators[1].device.index) == (torch.device("npu"), 1)
    copied = torch.Generator("npu")
    copied.set_state(generators[0].get_state())
    assert copied.get_state().tolist() == generators[0].get_state().tolist()


def test_forked_randomness_leaves_no_trace() -> None:
    torch.manual_seed(11)
    before = torch.npu.get_rng_state()
    with torch.random.fork_rng(devices=[0], device_type="npu"):
        torch.rand(3, device="npu")
    assert torch.equal(torch.npu.get_rng_state(), before)


def test_checkpointed_dropout_draws_the_same_again() -> None:
    x = torch.ones(64, device="npu", requires_grad=True)
    result = torch.utils.checkpoint.checkpoint(torch.nn.functional.dropout, x, use_reentrant=False)
    result.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, result.detach())

"""Random numbers come from torch's CPU generator, so that is the one that CUDA's names seed."""

from __future__ import annotations

import pytest
import torch

pytestmark = pytest.mark.platforms("cpu")


@pytest.mark.parametrize("name", ["manual_seed", "manual_seed_all"])
def test_a_seed_repeats_what_is_drawn(name: str) -> None:
    getattr(torch.cuda, name)(5)
    drawn = torch.rand(4, device="cuda")
    getattr(torch.cuda.random, name)(5)
    assert torch.equal(drawn, torch.rand(4, device="cuda"))
    assert torch.cuda.initial_seed() == 5


def test_a_seed_by_chance_is_another() -> None:
    torch.cuda.manual_seed(5)
    torch.cuda.seed_all()
    assert torch.cuda.initial_seed() != 5


def test_states_are_kept_and_set() -> None:
    state, states = torch.cuda.get_rng_state("cuda:0"), torch.cuda.get_rng_state_all()
    drawn = torch.rand(4, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(drawn, torch.rand(4, device="cuda"))
    torch.cuda.set_rng_state_all(states)
    assert torch.equal(drawn, torch.rand(4, device="cuda"))
    assert state.dtype is torch.uint8

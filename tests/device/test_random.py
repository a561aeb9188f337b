"""Each device has its own generator, which can be seeded, saved and restored."""

from collections.abc import Callable

import pytest
import torch


def test_seeds_make_draws_repeat() -> None:
    def draws() -> list[torch.Tensor]:
        functions: tuple[Callable[..., torch.Tensor], ...] = (torch.randn, torch.rand, torch.randperm)
        return [function(5, device="cuda") for function in functions]

    torch.manual_seed(7)
    first = draws()
    torch.cuda.manual_seed(7)
    assert all(torch.equal(a, b) for a, b in zip(first, draws(), strict=True))
    assert not torch.equal(first[0], torch.randn(5, device="cuda"))
    torch.cuda.seed_all()
    assert torch.cuda.initial_seed() != 7


@pytest.mark.platforms("cpu", "simulated-npu", "simulated-xpu")
def test_a_seed_counts_whole_and_gives_other_numbers_than_the_hosts() -> None:
    def drawn(seed: int, device: str) -> torch.Tensor:
        torch.manual_seed(seed)
        return torch.randn(5, device=device).cpu()

    draws = [drawn(seed, "cuda") for seed in (0, 5, 5 + (1 << 32), 5 + (1 << 63))]
    assert not torch.equal(draws[0], drawn(0, "cpu"))
    assert len({tuple(draw.tolist()) for draw in draws}) == len(draws)


def test_a_state_is_seed_and_offset() -> None:
    torch.cuda.manual_seed(258)
    torch.rand(2, device="cuda")
    state = torch.cuda.get_rng_state()
    assert state.tolist() == [2, 1, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0]
    expected = torch.rand(2, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.rand(2, device="cuda"), expected)
    assert torch.cuda.initial_seed() == 258


def test_devices_draw_on_their_own() -> None:
    torch.cuda.manual_seed_all(1)
    states = torch.cuda.get_rng_state_all()
    torch.rand(2, device="cuda:1")
    assert torch.equal(torch.cuda.get_rng_state(0), states[0])
    assert not torch.equal(torch.cuda.get_rng_state("cuda:1"), states[1])
    torch.cuda.set_rng_state_all(states)
    assert torch.equal(torch.cuda.get_rng_state(1), states[1])


@pytest.mark.platforms("cpu", "simulated-npu", "simulated-xpu")
def test_a_generator_of_the_host_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"Expected a '\w+' device type for generator but found 'cpu'"):
        torch.rand(3, generator=torch.Generator(), device="cuda")

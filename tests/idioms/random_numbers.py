"""Random numbers: seeds, states and generators of the devices."""

import torch

from idiom import refusal


def _draw():
    return torch.rand(3, device="cuda")


def _repeats(seed, draw=_draw):
    seed()
    first = draw()
    seed()
    return torch.equal(first, draw())


def _unmoved_by(block):
    torch.cuda.manual_seed(6)
    with block:
        _draw()
    first = _draw()
    torch.cuda.manual_seed(6)
    return torch.equal(first, _draw())


def seed_all_reaches_every_device():
    torch.cuda.manual_seed_all(4)
    assert torch.equal(torch.rand(3, device="cuda:0").cpu(), torch.rand(3, device="cuda:1").cpu())


def initial_seed():
    torch.cuda.manual_seed(5)
    assert torch.cuda.initial_seed() == 5


def random_seed():
    torch.cuda.seed()
    torch.cuda.seed_all()
    assert isinstance(torch.cuda.initial_seed(), int)


def state_is_restored():
    state = torch.cuda.get_rng_state()
    first = torch.rand(3, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(first, torch.rand(3, device="cuda"))


def state_is_bytes_on_the_host():
    state = torch.cuda.get_rng_state()
    assert state.dtype is torch.uint8 and state.device == torch.device("cpu")


def state_of_a_device():
    state = torch.cuda.get_rng_state("cuda:0")
    torch.cuda.set_rng_state(state, device="cuda:0")
    torch.cuda.set_rng_state(state, 0)
    assert torch.equal(torch.cuda.get_rng_state(torch.device("cuda", 0)), state)


def states_of_all_devices():
    states = torch.cuda.get_rng_state_all()
    first = torch.rand(3, device="cuda")
    torch.cuda.set_rng_state_all(states)
    assert len(states) == torch.cuda.device_count() and torch.equal(first, torch.rand(3, device="cuda"))


def generator_repeats():
    generator = torch.Generator("cuda").manual_seed(9)
    first = torch.rand(3, generator=generator, device="cuda")
    assert torch.equal(first, torch.rand(3, generator=generator.manual_seed(9), device="cuda"))


def generator_state():
    generator = torch.Generator("cuda")
    state = generator.get_state()
    first = torch.randn(3, generator=generator, device="cuda")
    generator.set_state(state)
    assert torch.equal(first, torch.randn(3, generator=generator, device="cuda"))


def generator_is_a_generator():
    class Named(torch.Generator):
        pass

    assert isinstance(Named("cuda"), torch.Generator)


def generator_fills_in_place():
    x = torch.empty(3, device="cuda").normal_(generator=torch.Generator("cuda").manual_seed(1))
    y = torch.empty(3, device="cuda").normal_(generator=torch.Generator("cuda").manual_seed(1))
    assert torch.equal(x, y)


def default_generators():
    torch.cuda.init()
    assert len(torch.cuda.default_generators) == torch.cuda.device_count()
    assert torch.cuda.default_generators[0].device.type == "cuda"


def default_generator_is_seeded():
    torch.cuda.init()
    torch.cuda.manual_seed(10)
    assert torch.cuda.default_generators[torch.cuda.current_device()].initial_seed() == 10


def dropout_repeats():
    x = torch.ones(100, device="cuda")
    torch.cuda.manual_seed(11)
    first = torch.nn.functional.dropout(x, 0.5)
    torch.cuda.manual_seed(11)
    assert torch.equal(first, torch.nn.functional.dropout(x, 0.5)) and first.is_cuda


def draws_on_the_host_do_not_depend_on_the_device():
    torch.manual_seed(12)
    first = torch.rand(3)
    torch.manual_seed(12)
    torch.rand(3, device="cuda")
    assert torch.equal(first, torch.rand(3))


def deterministic_algorithms():
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        assert torch.are_deterministic_algorithms_enabled()
    finally:
        torch.use_deterministic_algorithms(False)


EXPRESSIONS = {
    "seeded_draws_repeat": lambda: _repeats(lambda: torch.cuda.manual_seed(1)),
    "seeded_all_draws_repeat": lambda: _repeats(
        lambda: torch.cuda.manual_seed_all(2), lambda: torch.randn(3, device="cuda")
    ),
    "seed_of_torch_reaches_the_device": lambda: _repeats(lambda: torch.manual_seed(3)),
    "seed_of_torch_reaches_every_device": lambda: _repeats(
        lambda: torch.manual_seed(3), lambda: torch.rand(3, device="cuda:1")
    ),
    "fork_rng_restores": lambda: _unmoved_by(torch.random.fork_rng()),
    "fork_rng_of_some_devices": lambda: _unmoved_by(torch.random.fork_rng(devices=[0])),
    "fork_rng_of_a_device_type": lambda: _unmoved_by(
        torch.random.fork_rng(devices=range(torch.cuda.device_count()), device_type="cuda")
    ),
    "generator_on_the_device": lambda: torch.Generator(device="cuda").device.type == "cuda",
    "generator_by_position": lambda: torch.Generator("cuda:0").device == torch.device("cuda:0"),
    "multinomial_on_the_device": lambda: (
        torch.multinomial(torch.tensor([0.0, 1.0], device="cuda"), 1).item() == 1
    ),
    "generator_of_the_host_is_refused": lambda: (
        "generator"
        in refusal(lambda: torch.rand(3, generator=torch.Generator(), device="cuda"), RuntimeError)
    ),
}

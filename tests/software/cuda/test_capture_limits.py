"""What a capture refuses: waits, other seeds, and streams and events that are no part of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tests.software.cuda.capturing import captured


def test_a_generator_that_is_not_registered_is_refused() -> None:
    generator = torch.Generator("cuda").manual_seed(1)
    with (
        pytest.warns(UserWarning, match="The CUDA Graph is empty"),
        pytest.raises(RuntimeError, match="generator not in capture mode"),
    ):
        captured(lambda: torch.rand(2, device="cuda", generator=generator))


def waits(value: torch.Tensor) -> list[Callable[[], object]]:
    """Lists the calls that synchronize with the device."""
    stream, event = torch.cuda.current_stream(), torch.cuda.Event()
    event.record()
    device = [torch.cuda.synchronize, stream.synchronize, event.synchronize]
    return [*device, value.tolist, value.sum().item, value.nonzero]


def refused(work: Callable[[], object]) -> str:
    """Returns why a capture of some work failed."""
    with (
        torch.cuda.stream(torch.cuda.current_stream()),  # a failed capture leaves its own stream current
        pytest.raises(RuntimeError, match="failed due to a previous error during capture") as caught,
    ):
        captured(work)
    assert not torch.cuda.is_current_stream_capturing()
    return str(caught.value.__context__)


def test_what_waits_is_refused_during_a_capture() -> None:
    value = torch.ones(3, device="cuda")
    for wait in (*waits(value), lambda: torch.cuda.current_stream().query()):
        assert "operation not permitted when stream is capturing" in refused(wait)
    graph, result = captured(lambda: value + 1)
    graph.replay()
    assert result.tolist() == [2, 2, 2]


def test_a_capture_waits_for_its_own_events_alone() -> None:
    side, before = torch.cuda.Stream(), torch.cuda.Event()
    before.record()
    for wait in (
        lambda: torch.cuda.current_stream().wait_stream(side),
        lambda: torch.cuda.current_stream().wait_event(before),
    ):
        assert "dependency created on uncaptured work in another stream" in refused(wait)
    captured(lambda: torch.cuda.current_stream().wait_event(torch.cuda.Event(external=True)) or value())


def value() -> torch.Tensor:
    return torch.ones(2, device="cuda") + 1


def fork(through: torch.cuda.Stream, side: torch.cuda.Stream, *, joins: bool) -> torch.Tensor:
    """Works on a stream that waits for the capturing one through another."""
    through.wait_stream(torch.cuda.current_stream())
    side.wait_stream(through)
    with torch.cuda.stream(side):
        assert torch.cuda.is_current_stream_capturing()
        result = value()
    if joins:
        torch.cuda.current_stream().wait_stream(side)
    return result


def test_streams_join_a_capture_and_must_be_joined() -> None:
    streams = torch.cuda.Stream(), torch.cuda.Stream()
    graph, result = captured(lambda: fork(*streams, joins=True))
    graph.replay()
    assert result.tolist() == [2, 2]
    with (
        torch.cuda.stream(torch.cuda.current_stream()),
        pytest.raises(RuntimeError, match="capturing stream has unjoined work"),
    ):
        captured(lambda: fork(*streams, joins=False))
    assert not any(stream.is_capturing() for stream in streams)


def test_backward_passes_join_the_streams_of_a_capture() -> None:
    side, weight = torch.cuda.Stream(), torch.ones(2, device="cuda", requires_grad=True)
    done: list[torch.cuda.Event] = []
    changed = torch.zeros(2, device="cuda")

    def on_side(gradient: torch.Tensor) -> None:
        with torch.cuda.stream(side):
            changed.copy_(gradient * 2)
        done.append(side.record_event())

    def learn() -> torch.Tensor:
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            product = weight * weight * 3
        product.register_hook(on_side)
        torch.cuda.current_stream().wait_stream(side)
        (gradient,) = torch.autograd.grad(product.sum(), weight)  # joins the side stream once more
        return gradient

    graph, gradient = captured(learn)
    graph.replay()
    assert (gradient.tolist(), changed.tolist()) == ([6, 6], [2, 2])


def test_an_event_of_a_graph_is_never_seen() -> None:
    first, second = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    captured(lambda: (first.record(), value(), second.record()))
    for attempt in (first.query, first.synchronize, lambda: first.elapsed_time(second)):
        with pytest.raises(RuntimeError, match="event last recorded in a capturing stream"):
            attempt()
    first.record()
    first.synchronize()
    assert first.query()


def test_a_capture_keeps_the_seed() -> None:
    torch.cuda.manual_seed(3)
    state, other = torch.cuda.get_rng_state(), torch.cuda.get_rng_state()
    other[0] = 4
    captured(lambda: (torch.manual_seed(3), torch.cuda.set_rng_state(state), value()))
    for change, message in (
        (lambda: torch.cuda.manual_seed(4), "only if new seed is the same as the original seed"),
        (lambda: torch.manual_seed(4), "only if new seed is the same as the original seed"),
        (lambda: torch.cuda.set_rng_state(other), "only if new seed is the same as the original seed"),
        (torch.cuda.seed, "Cannot call CUDAGeneratorImpl::seed during CUDA graph capture"),
    ):
        with torch.cuda.stream(torch.cuda.current_stream()), pytest.raises(RuntimeError, match=message):
            captured(lambda change=change: (value(), change()))
    assert torch.cuda.initial_seed() == 3

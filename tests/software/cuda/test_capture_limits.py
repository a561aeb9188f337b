"""What a capture refuses: waits, other seeds, and streams and events that are no part of it."""

from collections.abc import Callable

import pytest
import torch

from tests.software.cuda.capturing import captured, refused


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
    square = value.diag()
    factorizations = [
        lambda: torch.linalg.svd(square),
        lambda: torch.linalg.eigh(square),
        lambda: torch.linalg.inv_ex(square, check_errors=True),
    ]
    pinned = torch.empty(3).pin_memory()
    return [*device, lambda: pinned.copy_(value), value.sum().item, value.nonzero, *factorizations]


def test_what_waits_is_refused_during_a_capture() -> None:
    value = torch.ones(3, device="cuda")
    for wait in (*waits(value), lambda: torch.cuda.current_stream().query()):
        assert "operation not permitted when stream is capturing" in refused(wait)
    graph, result = captured(lambda: value + 1)
    graph.replay()
    assert result.tolist() == [2, 2, 2]


def test_nothing_more_is_captured_after_what_is_refused() -> None:
    value, more = torch.ones(3, device="cuda"), []

    def work() -> None:
        with pytest.raises(RuntimeError, match="not permitted when stream is capturing"):
            value.sum().item()
        with pytest.raises(RuntimeError, match="failed due to a previous error during capture"):
            more.append(value + 1)

    with torch.cuda.stream(torch.cuda.current_stream()), pytest.raises(RuntimeError, match="previous error"):
        captured(work)
    assert (value + 1).tolist() == [2, 2, 2]
    assert not more


def test_a_capture_ends_on_its_own_stream() -> None:
    graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.stream(side):
        graph.capture_begin()
        value = torch.ones(2, device="cuda")
        with (
            torch.cuda.stream(torch.cuda.Stream()),
            pytest.raises(RuntimeError, match="^Capture must end on the same stream it began on"),
        ):
            graph.capture_end()
        graph.capture_end()
    graph.replay()
    assert value.tolist() == [1, 1]


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


def joined_by(way: str, side: torch.cuda.Stream) -> None:
    """Lets a stream wait for the current one by each of the ways that torch has."""
    current = torch.cuda.current_stream()
    place = {"stream_id": side.stream_id, "device_index": side.device_index, "device_type": side.device_type}
    if way == "torch.cuda.Event":
        side.wait_event(current.record_event())
    elif way == "torch.Event":
        event = torch.Event("cuda")
        event.record(current)
        event.wait(side)
    else:
        torch.Stream(**place).wait_stream(current)


@pytest.mark.parametrize("way", ["torch.cuda.Event", "torch.Event", "torch.Stream"])
def test_work_of_a_stream_is_captured_once_it_has_joined(way: str) -> None:
    side, counter = torch.cuda.Stream(), torch.zeros(1, device="cuda")
    torch.cuda.synchronize()

    def work() -> tuple[torch.Tensor, torch.Tensor]:
        with torch.cuda.stream(side):
            counter.add_(1)
            at_once = counter * 10
        assert not side.is_capturing()
        joined_by(way, side)
        with torch.cuda.stream(side):
            counter.add_(1)
            captured = counter * 10
        torch.cuda.current_stream().wait_event(side.record_event())
        return at_once, captured

    graph, (at_once, captured_later) = captured(work, capture_error_mode="relaxed")  # it allocates memory
    torch.cuda.synchronize()
    assert (counter.item(), at_once.item()) == (1, 10)
    graph.replay()
    graph.replay()
    assert (counter.item(), at_once.item(), captured_later.item()) == (3, 10, 30)


def test_memory_of_work_outside_of_a_capture_is_not_its_pools() -> None:
    def work() -> tuple[torch.Tensor, torch.Tensor]:
        with torch.cuda.stream(torch.cuda.Stream()):
            outside = torch.empty(1 << 20, device="cuda")
        return outside, torch.empty(1 << 20, device="cuda") + 1

    graph, results = captured(work, capture_error_mode="relaxed")
    pools = {
        result.data_ptr(): segment["segment_pool_id"]
        for segment in torch.cuda.memory_snapshot()
        for result in results
        if segment["address"] <= result.data_ptr() < segment["address"] + segment["total_size"]
    }
    assert [pools[result.data_ptr()] for result in results] == [(0, 0), graph.pool()]


def test_the_default_stream_cannot_join() -> None:
    default, done = torch.cuda.default_stream(), torch.zeros(1, device="cuda")

    def at_once() -> torch.Tensor:
        with torch.cuda.stream(default):
            done.add_(1)
        return value()

    captured(at_once)
    assert done.item() == 1
    waits_for_it = refused(lambda: default.wait_stream(torch.cuda.current_stream()))
    assert "operation would make the legacy stream depend on a capturing blocking stream" in waits_for_it


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
    torch.cuda.manual_seed_all(3)
    state, other = torch.cuda.get_rng_state(), torch.cuda.get_rng_state()
    other[0] = 4
    captured(lambda: (torch.manual_seed(3), torch.cuda.set_rng_state(state), value()))
    generator = torch.cuda.default_generators[0]
    cannot = "Cannot call CUDAGeneratorImpl::{} during CUDA graph capture"
    for change, message in (
        (lambda: torch.cuda.manual_seed(4), "only if new seed is the same as the original seed"),
        (lambda: torch.manual_seed(4), "only if new seed is the same as the original seed"),
        (lambda: torch.cuda.set_rng_state(other), "only if new seed is the same as the original seed"),
        (lambda: generator.manual_seed(4), "only if new seed is the same as the original seed"),
        (torch.cuda.seed, cannot.format("seed")),
        (generator.seed, cannot.format("seed")),
        (generator.get_offset, cannot.format("get_offset")),
        (lambda: generator.set_offset(8), cannot.format("set_offset")),
    ):
        with torch.cuda.stream(torch.cuda.current_stream()), pytest.raises(RuntimeError, match=message):
            captured(lambda change=change: (value(), change()))
    assert torch.cuda.initial_seed() == 3

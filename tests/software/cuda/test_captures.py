"""CUDA graphs: memory, generators and errors are as on CUDA."""

from __future__ import annotations

import gc
import pathlib
from collections.abc import Callable

import pytest
import torch
from torch.utils.checkpoint import checkpoint


def captured(work, graph=None):
    """Captures a call of a function; returns the graph and the result of the call."""
    graph = graph or torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = work()
    return graph, result


def test_intermediate_results_take_no_memory_after_the_capture() -> None:
    value = torch.ones(1 << 20, device="cuda")

    def work() -> torch.Tensor:
        result = value
        for _ in range(6):
            result = result + 1
        return result

    before = torch.cuda.memory_allocated()
    graph, result = captured(work)
    assert torch.cuda.memory_allocated() - before <= (4 << 20) + 1024
    value.fill_(5)
    graph.replay()
    assert result.mean().item() == 11


def test_graphs_of_one_pool_use_its_memory_in_turn() -> None:
    value = torch.ones(1 << 20, device="cuda")
    graph, first = captured(lambda: value + 1)
    del first
    second = torch.cuda.CUDAGraph()
    before = torch.cuda.memory_reserved()
    with torch.cuda.graph(second, pool=graph.pool()):
        result = value + 2
    assert torch.cuda.memory_reserved() == before
    second.replay()
    assert result.mean().item() == 3


def test_a_result_outlives_its_graph() -> None:
    graph, result = captured(lambda: torch.ones(3, device="cuda") * 4)
    graph.replay()
    del graph
    gc.collect()
    torch.cuda.empty_cache()
    assert result.tolist() == [4, 4, 4]


def test_a_recurrent_network_learns_in_a_graph() -> None:
    network = torch.nn.LSTM(5, 6, 2).cuda()
    given = torch.rand(4, 3, 5, device="cuda")
    for parameter in network.parameters():
        parameter.grad = torch.zeros_like(parameter)

    def learn() -> None:
        network.zero_grad(set_to_none=False)
        network(given)[0].square().sum().backward()

    graph, _ = captured(learn)
    given.uniform_()
    graph.replay()
    replayed = [parameter.grad.clone() for parameter in network.parameters()]
    learn()
    for gradient, parameter in zip(replayed, network.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad)


def test_a_number_of_the_host_is_read_in_the_capture() -> None:
    value, number = torch.ones(2, device="cuda"), torch.tensor(0.5)
    pinned = torch.tensor(0.25).pin_memory()

    def work() -> list[torch.Tensor]:
        copied = torch.empty((), device="cuda").copy_(pinned, non_blocking=True)
        filled, listed = torch.empty(2, device="cuda").fill_(number), torch._foreach_mul([value], number)
        return [value * number, number - value, filled, *listed, value * copied]

    graph, results = captured(work)
    number.fill_(9)
    pinned.fill_(2)
    value.fill_(4)
    graph.replay()
    assert [result[0].item() for result in results] == [2, -3.5, 0.5, 2, 8]


def test_replays_draw_from_the_states_of_the_capture() -> None:
    generator = torch.cuda.default_generators[0]
    own, other = generator.graphsafe_get_state(), generator.clone_state()
    other.manual_seed(5)
    graph = torch.cuda.CUDAGraph()
    graph.register_generator_state(other)

    def draw() -> tuple[torch.Tensor, torch.Tensor]:
        generator.graphsafe_set_state(other)
        drawn = torch.rand(4, device="cuda")
        generator.graphsafe_set_state(own)
        return drawn, torch.rand(4, device="cuda")

    graph, (first, second) = captured(draw, graph)
    assert other.get_offset() == 0
    generator.manual_seed(7)
    graph.replay()
    assert other.get_offset() > 0
    torch.cuda.manual_seed(7)
    assert torch.equal(second, torch.rand(4, device="cuda"))
    assert torch.equal(first, torch.rand(4, device="cuda", generator=torch.Generator("cuda").manual_seed(5)))


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


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_draws_the_same_twice_in_each_replay(reentrant: bool) -> None:
    given, zeros = torch.ones(64, device="cuda", requires_grad=True), []

    def step() -> tuple[torch.Tensor, ...]:
        dropped = checkpoint(torch.nn.functional.dropout, given, use_reentrant=reentrant)
        after = torch.rand(4, device="cuda")
        given.grad = torch.zeros_like(given)
        dropped.sum().backward()
        return dropped.detach(), given.grad, after, torch.rand(4, device="cuda")

    graph, results = captured(step)
    for seed in (1, 2):
        torch.cuda.manual_seed(seed)
        graph.replay()
        dropped, gradient, *after = (each.clone() for each in results)
        assert torch.equal(dropped, gradient)
        zeros.append(dropped)
        torch.cuda.manual_seed(seed)
        for one, other in zip((dropped, gradient, *after), step(), strict=True):
            assert torch.equal(one, other)
    assert not torch.equal(*zeros)


def test_an_empty_graph_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="The CUDA Graph is empty"):
        captured(lambda: None)


def test_a_graph_is_written_for_graphviz(tmp_path: pathlib.Path) -> None:
    graph = torch.cuda.CUDAGraph()
    graph.enable_debug_mode()
    value = torch.ones(3, device="cuda")
    captured(lambda: value + 1, graph)
    graph.debug_dump(str(tmp_path / "graph.dot"))
    assert "aten.add" in (tmp_path / "graph.dot").read_text()


def test_a_graph_is_captured_once_until_it_is_reset() -> None:
    value = torch.ones(3, device="cuda")
    graph, _ = captured(lambda: value + 1)
    with pytest.raises(RuntimeError, match="already owns a captured graph"):
        captured(lambda: value + 2, graph)
    graph.reset()
    _, result = captured(lambda: value + 3, graph)
    graph.replay()
    assert result.tolist() == [4, 4, 4]
    with pytest.raises(NotImplementedError, match="raw_cuda_graph"):
        graph.raw_cuda_graph()


def test_a_capture_ends_in_two_steps() -> None:
    graph, value = torch._C._CUDAGraph(), torch.ones(2, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        graph.capture_begin()
        result = value + 1
        graph.capture_end_pre()
        graph.instantiate()
        graph.capture_end_post()
    graph.replay()
    assert result.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="keep_graph=true"):
        graph.instantiate()


def test_a_graph_keeps_the_memory_of_other_pools() -> None:
    graph, _ = captured(lambda: torch.ones(2, device="cuda") + 1)
    pool = torch.cuda.MemPool()
    graph._retain_pool(pool.id)
    assert graph.pools() == [graph.pool(), pool.id]
    assert pool.use_count() == 2
    graph.reset()
    assert pool.use_count() == 1

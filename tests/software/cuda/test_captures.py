"""CUDA graphs: memory, generators and errors are as on CUDA."""

import copy
import gc
import pathlib
import warnings

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from tests.software.cuda.capturing import captured


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
    value = torch.ones(3, device="cuda")
    for is_kept in (True, False):
        graph, written = torch.cuda.CUDAGraph(keep_graph=is_kept), tmp_path / f"{is_kept}.dot"
        captured(lambda: value + 1, graph)
        if not is_kept:
            with pytest.warns(UserWarning, match="CUDA Graphs debug not enabled"):
                graph.debug_dump(str(written))
        graph.enable_debug_mode()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "DEBUG: calling debug_dump()"
            graph.debug_dump(str(written))
        assert [path.name for path in tmp_path.iterdir()] == ["True.dot"]
    assert "aten.add" in (tmp_path / "True.dot").read_text()


def test_a_graph_is_captured_once_until_it_is_reset() -> None:
    value = torch.ones(3, device="cuda")
    graph, _ = captured(lambda: value + 1)
    with pytest.raises(RuntimeError, match="already owns a captured graph"):
        captured(lambda: value + 2, graph)
    graph.reset()
    _, result = captured(lambda: value + 3, graph)
    graph.replay()
    assert result.tolist() == [4, 4, 4]
    with pytest.raises(RuntimeError, match="unless CUDAGraph was initialized with keep_graph=true"):
        graph.raw_cuda_graph()
    graph.reset()
    with pytest.raises(RuntimeError, match=r"^Called CUDAGraph::pool\(\) without a preceding"):
        graph.pool()
    with pytest.raises(torch.AcceleratorError, match="cannot be performed in the present state"):
        graph.capture_end()
    with pytest.raises(TypeError, match="cannot pickle 'CUDAGraph' object"):
        copy.copy(graph)


def test_a_graph_makes_a_pool_of_its_own_where_none_is_named() -> None:
    pools = []
    for pool in (None, (0, 0), torch.cuda.graph_pool_handle()):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(torch.cuda.Stream()):
            graph.capture_begin(pool=pool)
            torch.ones(1, device="cuda")
            graph.capture_end()
        pools.append([number > 0 for number in graph.pool()])
    assert pools == [[True, False], [True, False], [False, True]]


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

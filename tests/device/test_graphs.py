"""Graphs: a capture computes nothing, and a replay writes into the same tensors."""

import contextlib
import warnings

import pytest
import torch
from torch import Tensor, nn

from morph.base.errors import MissingNameError
from tests.platforms import EVERYWHERE, SIMULATED, Platform

pytestmark = pytest.mark.platforms(*EVERYWHERE)
# the software runtime of the real torch_npu records what is called, and refuses nothing
refusing = pytest.mark.platforms("cpu", *SIMULATED)
as_torch_cuda = pytest.mark.platforms("cpu", "simulated-npu", "simulated-mlu", "simulated-musa")


def _doubled() -> tuple[torch.cuda.CUDAGraph, Tensor, Tensor]:
    graph, given = torch.cuda.CUDAGraph(), torch.ones(3, device="cuda")
    with torch.cuda.graph(graph):
        doubled = given * 2
    return graph, given, doubled


def test_a_replay_reads_and_writes_the_same_tensors() -> None:
    graph, given, doubled = _doubled()
    given.fill_(4)
    graph.replay()
    assert doubled.tolist() == [8, 8, 8]


def test_a_capture_computes_nothing() -> None:
    graph, counter = torch.cuda.CUDAGraph(), torch.zeros(2, device="cuda")
    state = torch.cuda.get_rng_state()
    with torch.cuda.graph(graph):
        counter[0] += 1
        torch.rand(3, device="cuda")
    assert counter.tolist() == [0, 0]
    assert torch.equal(state, torch.cuda.get_rng_state())
    graph.replay()
    graph.replay()
    assert counter.tolist() == [2, 0]


def _model() -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(1)
    layers = nn.Linear(8, 16), nn.Dropout(0.3), nn.ReLU(), nn.BatchNorm1d(16), nn.Linear(16, 1)
    model = nn.Sequential(*layers).cuda()
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def _step(model: nn.Module, optimizer: torch.optim.Optimizer, x: Tensor, y: Tensor) -> Tensor:
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


@refusing
def test_training_by_replays_is_training() -> None:
    batches = [(torch.randn(32, 8, device="cuda"), torch.randn(32, 1, device="cuda")) for _ in range(6)]
    x, y = (torch.zeros_like(tensor) for tensor in batches[0])
    model, optimizer = _model()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            _step(model, optimizer, x, y)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        loss = _step(model, optimizer, x, y)
    torch.manual_seed(2)
    losses = []
    for batch in batches:
        x.copy_(batch[0])
        y.copy_(batch[1])
        graph.replay()
        losses.append(loss.item())

    expected, optimizer = _model()
    for _ in range(3):
        _step(expected, optimizer, torch.zeros_like(x), torch.zeros_like(y))
    torch.manual_seed(2)
    assert losses == [_step(expected, optimizer, *batch).item() for batch in batches]
    assert all(map(torch.equal, model.state_dict().values(), expected.state_dict().values()))


def test_a_step_of_adam_is_captured() -> None:
    models = [nn.Linear(4, 1).cuda() for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    captured, plain = (torch.optim.Adam(model.parameters(), capturable=True) for model in models)
    x = torch.randn(8, 4, device="cuda")
    for model, optimizer in zip(models, (captured, plain), strict=True):
        _step(model, optimizer, x, x[:, :1])
    graph = torch.cuda.CUDAGraph()
    captured.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        _step(models[0], captured, x, x[:, :1])
    for _ in range(3):
        graph.replay()
        _step(models[1], plain, x, x[:, :1])
    assert torch.equal(models[0].weight, models[1].weight)


def test_random_numbers_are_drawn_anew() -> None:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        drawn = torch.rand(4, device="cuda")
    torch.cuda.manual_seed(3)
    graph.replay()
    first = drawn.clone()
    graph.replay()
    assert not torch.equal(first, drawn)
    torch.cuda.manual_seed(3)
    assert torch.equal(first, torch.rand(4, device="cuda"))


def test_graphed_callables_have_gradients() -> None:
    warnings.simplefilter(
        "ignore", UserWarning
    )  # autograd warns about the streams that torch's function uses
    torch.manual_seed(4)
    model, plain = nn.Linear(4, 2).cuda(), nn.Linear(4, 2).cuda()
    plain.load_state_dict(model.state_dict())
    graphed = torch.cuda.make_graphed_callables(model, (torch.randn(3, 4, device="cuda"),))
    for x in torch.randn(2, 3, 4, device="cuda"):
        model.zero_grad(set_to_none=True)
        plain.zero_grad(set_to_none=True)
        assert torch.equal(graphed(x), plain(x))
        graphed(x).sum().backward()
        plain(x).sum().backward()
        assert torch.allclose(model.weight.grad, plain.weight.grad)


def test_two_forwards_leave_the_first_output_to_autograd() -> None:
    graphed = torch.cuda.make_graphed_callables(nn.Linear(4, 2).cuda(), (torch.randn(3, 4, device="cuda"),))
    x = torch.randn(3, 4, device="cuda")
    (graphed(x).square() + graphed(x).square()).sum().backward()
    assert graphed.weight.grad is not None


@pytest.mark.parametrize("fullgraph", [False, True])
def test_a_compiled_function_is_captured(fullgraph: bool) -> None:
    compiled = torch.compile(lambda x: x * 2 + 1, backend="aot_eager", fullgraph=fullgraph)
    graph, given = torch.cuda.CUDAGraph(), torch.ones(2, device="cuda")
    compiled(given)
    with torch.cuda.graph(graph):
        result = compiled(given)
    given.fill_(3)
    graph.replay()
    assert result.tolist() == [7, 7]


def test_a_function_that_was_captured_is_compiled_later() -> None:
    compilations = []

    def backend(graph: torch.fx.GraphModule, _: object) -> object:
        compilations.append(graph)
        return graph

    compiled = torch.compile(lambda x: x * 3, backend=backend)
    graph, given = torch.cuda.CUDAGraph(), torch.ones(2, device="cuda")
    with torch.cuda.graph(graph):
        compiled(given)
    assert compiled(given).tolist() == [3, 3]
    assert len(compilations) == 1


INDEXED = {
    "integers": "x[i]",
    "int32": "x[i.int()]",
    "two": "x[i, 0]",
    "a view": "x[:, None][i]",
    "rows": "torch.nn.functional.embedding(i, x)",
    "put": "x.index_put((i,), x[:2] + 1)",
    "repeated": "x[:2].repeat_interleave(i * 0 + 2, dim=0, output_size=4)",
}


@pytest.mark.parametrize("indexed", INDEXED.values(), ids=INDEXED)
@pytest.mark.parametrize("inference", [False, True])
def test_indexing_by_integers_is_captured(indexed: str, inference: bool) -> None:
    x, i, graph = torch.arange(8.0, device="cuda").view(4, 2), torch.zeros(2, dtype=int, device="cuda"), None
    graph, names = torch.cuda.CUDAGraph(), {"torch": torch, "x": x, "i": i}
    with torch.inference_mode(inference), torch.cuda.graph(graph):
        result = eval(indexed, names)
    i += torch.tensor([1, 3], device="cuda")
    graph.replay()
    assert torch.equal(result, eval(indexed, names))


@refusing
def test_what_is_written_in_a_capture_is_neither_computed_nor_copied() -> None:
    free, _ = torch.cuda.mem_get_info()
    cache = torch.empty(int(free * 0.9), dtype=torch.uint8, device="cuda")
    cache[:4] = 1
    graph, slots = torch.cuda.CUDAGraph(), torch.tensor([0, 2], device="cuda")
    with torch.cuda.graph(graph):
        cache.index_add_(0, slots, torch.ones(2, dtype=torch.uint8, device="cuda"))
        cache[2:4] += 5
    assert cache[:4].tolist() == [1, 1, 1, 1]
    graph.replay()
    assert cache[:4].tolist() == [2, 1, 7, 6]


WRONG = "x + x[:2]", "x.add_(torch.ones(3))", "x @ torch.ones(2, device='cuda')"


@refusing
@pytest.mark.parametrize("wrong", WRONG)
def test_arguments_that_do_not_fit_are_refused_in_a_capture(wrong: str) -> None:
    warnings.filterwarnings("ignore", "The .* Graph is empty")
    x, graph = torch.ones(3, device="cuda"), torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="size|same device|broadcast"), torch.cuda.graph(graph):
        eval(wrong, {"torch": torch, "x": x})


def test_an_operator_in_python_is_captured_by_what_it_calls() -> None:
    @torch.library.custom_op("morph_captures::doubled", mutates_args=("target",))
    def doubled(given: Tensor, target: Tensor) -> Tensor:
        target.copy_(given)
        return given * 2

    doubled.register_fake(lambda given, target: torch.empty_like(given))
    graph, given, target = torch.cuda.CUDAGraph(), torch.ones(2, device="cuda"), torch.zeros(2, device="cuda")
    with torch.cuda.graph(graph):
        result = doubled(given, target)
    assert target.tolist() == [0, 0]
    given.fill_(3)
    graph.replay()
    assert (result.tolist(), target.tolist()) == ([6, 6], [3, 3])


@torch.library.custom_op("morph_captures::scaled", mutates_args=())
def _scaled(x: Tensor) -> Tensor:
    return x * x.sum().item()


_scaled.register_fake(torch.empty_like)
QUESTIONS = (
    *("x.sum().item()", "x.nonzero()", "bool(x[0])", "x[x > 0]", "x.index_put_((x > 0,), x)"),
    "torch.ops.morph_captures.scaled(x)",
)


@refusing
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_to_the_device_is_refused_in_a_capture(question: str) -> None:
    x, current = torch.ones(3, device="cuda"), torch.cuda.current_stream()
    with pytest.raises(RuntimeError, match="failed due to a previous error during capture") as caught:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            eval(question, {"torch": torch, "x": x})
    torch.cuda.set_stream(current)  # torch.cuda.graph of 2.13 leaves its own current after a failed capture
    assert "not permitted when stream is capturing" in str(caught.value.__context__)
    assert not torch.cuda.is_current_stream_capturing()


COPIES = ("x.cpu()", "x.copy_(torch.ones(3))", "x.repeat_interleave(x.int())")


@pytest.mark.platforms("cpu", *SIMULATED)
@pytest.mark.parametrize("copy", COPIES)
def test_memory_that_is_not_pinned_is_not_copied_in_a_capture(copy: str, platform: Platform) -> None:
    x, current = torch.ones(3, device="cuda"), torch.cuda.current_stream()
    on_cuda = platform.name == "cpu"  # where the capture goes on
    wait = contextlib.nullcontext() if on_cuda else pytest.raises(RuntimeError, match="previous error")
    words = "^Cannot copy between CPU and CUDA" if on_cuda else "not permitted when stream is capturing"
    with wait, torch.cuda.graph(torch.cuda.CUDAGraph()):
        with pytest.raises(RuntimeError, match=words):
            eval(copy, {"torch": torch, "x": x})
        if on_cuda:
            x.add_(1)
    torch.cuda.set_stream(current)
    assert not torch.cuda.is_current_stream_capturing()


@refusing
def test_a_capture_is_known_while_it_lasts() -> None:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=(pool := torch.cuda.graph_pool_handle())):
        torch.zeros(2, device="cuda")  # an empty graph would raise a warning
        assert torch.cuda.is_current_stream_capturing()
        assert torch.cuda.current_stream().is_capturing()
        with pytest.raises(RuntimeError, match="already underway"):
            torch.cuda.CUDAGraph().capture_begin()
    assert graph.pool() == pool
    assert not torch.cuda.is_current_stream_capturing()


@as_torch_cuda
def test_a_graph_without_a_capture_is_refused() -> None:
    graph, _, _ = _doubled()
    graph.reset()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()
    with pytest.raises(RuntimeError, match="without capture_begin|cannot be performed in the present state"):
        graph.capture_end()
    with pytest.raises(RuntimeError, match="must be captured on a non-default stream"):
        graph.capture_begin()


@pytest.mark.platforms("cpu")  # vendors instantiate automatically
def test_an_empty_graph_is_not_instantiated() -> None:
    with pytest.raises(RuntimeError, match="must have been called before calling instantiate"):
        torch.cuda.CUDAGraph().instantiate()


@pytest.mark.platforms("simulated-npu", "simulated-mlu", "simulated-musa")
def test_annotations_of_a_graph_are_refused_by_name() -> None:
    with pytest.raises(MissingNameError, match="enable_annotations"):
        with torch.cuda.graph(torch.cuda.CUDAGraph(), enable_annotations=True):
            pass


def test_what_is_captured_in_inference_mode_is_replayed_outside() -> None:
    given, graph = torch.zeros(2, device="cuda"), torch.cuda.CUDAGraph()
    with torch.inference_mode(), torch.cuda.graph(graph):
        counted = torch.ones(2, device="cuda").add_(given)
        given.add_(1)
    assert given.tolist() == [0, 0]
    graph.replay()
    graph.replay()
    assert given.tolist() == [2, 2]
    assert counted.tolist() == [2, 2]

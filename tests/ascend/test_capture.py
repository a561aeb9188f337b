"""NPUGraph: capturing changes nothing, and a replay does the same work on the same memory again."""

import warnings

import pytest
import torch
from torch import nn

pytestmark = pytest.mark.platforms("npu")


def test_a_replay_reads_what_its_inputs_hold_then():
    graph, values = torch.npu.NPUGraph(), torch.zeros(3, device="npu")
    with torch.npu.graph(graph):
        doubled = ((values + 1).view(3, 1) * 2).t().contiguous()
    values.fill_(4)
    graph.replay()
    assert doubled.tolist() == [[10, 10, 10]]


def test_capturing_writes_nothing():
    graph, count, copied = torch.npu.NPUGraph(), torch.zeros(1, device="npu"), torch.zeros(1, device="npu")
    with torch.npu.graph(graph):
        count.add_(1)
        copied.copy_(count)
    assert (count.item(), copied.item()) == (0, 0)
    for expected in (1, 2):
        graph.replay()
        assert (count.item(), copied.item()) == (expected, expected)


def test_every_replay_draws_anew():
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        drawn = torch.randn(8, device="npu")
    graph.replay()
    first = drawn.clone()
    graph.replay()
    assert not torch.equal(drawn, first)


def training_steps(capture: bool) -> list[torch.Tensor]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).npu()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs, goals = torch.zeros(16, 4, device="npu"), torch.zeros(16, dtype=torch.long, device="npu")
    batches = [(torch.randn(16, 4), torch.randint(0, 2, (16,))) for _ in range(4)]

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(model(inputs), goals).backward()
        optimizer.step()

    run = step
    if capture:
        graph = torch.npu.NPUGraph()
        with torch.npu.graph(graph):
            step()
        run = graph.replay
    for batch, labels in batches:
        inputs.copy_(batch)
        goals.copy_(labels)
        run()
    return [parameter.detach().cpu() for parameter in model.parameters()]


def test_a_captured_training_step_trains_as_the_step_itself():
    torch.testing.assert_close(training_steps(capture=True), training_steps(capture=False))


def test_a_function_is_made_graphed():
    layer, sample = nn.Linear(4, 4).npu(), torch.randn(2, 4, device="npu", requires_grad=True)
    with torch.no_grad():
        expected = layer(sample)
    # torch_npu does not warm the function up on the stream on which it captures it.
    warnings.filterwarnings("ignore", "The AccumulateGrad node's stream")
    graphed = torch.npu.make_graphed_callables(layer, (sample,))
    torch.testing.assert_close(graphed(sample).detach(), expected)

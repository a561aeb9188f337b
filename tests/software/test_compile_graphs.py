"""`torch.compile` with graphs: torch's own trees of CUDA graphs record compiled code and replay it."""

import copy
import logging
import warnings
from contextlib import contextmanager

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._dynamo.utils import counters

from tests import platforms
from tests.worker import Worker, Workers

WAYS = [
    {"mode": "reduce-overhead"},
    {"mode": "max-autotune"},
    {"options": {"triton.cudagraphs": True}},
    {"backend": "cudagraphs"},
]
OVERWRITTEN = "accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run"


@pytest.fixture(scope="module", params=platforms.chosen(["cpu"]))
def worker(
    request: pytest.FixtureRequest, worker_pool: Workers, tmp_path_factory: pytest.TempPathFactory
) -> Worker:
    """A process under morph with two software devices and an empty inductor cache."""
    remembered = str(tmp_path_factory.mktemp("inductor"))
    variables = {"TORCHINDUCTOR_CACHE_DIR": remembered}
    return worker_pool.on(platforms.platform(request.param, variables), morph=True)


@pytest.fixture(autouse=True)
def on_two_devices(worker: Worker) -> None:
    """Makes every test run in the worker."""


def compiled(function, **way):
    warnings.simplefilter("ignore")  # warnings of Dynamo and inductor about what they import and trace
    torch.compiler.reset()
    counters.clear()
    return torch.compile(function, **(way or WAYS[0]))


def skips():
    return counters["inductor"]["cudagraph_skips"]


def graphs(device=0):
    """Returns the graphs that are recorded, a root first."""
    from torch._inductor.cudagraph_trees import get_manager

    found = list(get_manager(device).get_roots())
    for node in found:
        found += [child for children in node.children.values() for child in children]
    return found


@contextmanager
def said():
    """Returns what torch says of graphs meanwhile."""
    messages: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())
    logger = logging.getLogger("torch._inductor.cudagraph_utils.__cudagraphs")
    logger.addHandler(handler)
    try:
        yield messages
    finally:
        logger.removeHandler(handler)


@torch.library.custom_op("morph_tests::noted", mutates_args={"total"}, device_types="cuda")
def noted(tensor: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
    noted.calls += 1
    total.add_(tensor.sum())
    return tensor + total


noted.calls = 0
noted.register_fake(lambda tensor, total: torch.empty_like(tensor))


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS, ids=lambda way: str(*way.values()))
def test_what_is_computed(way):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)).cuda()
    step = compiled(model, **way)
    with torch.no_grad():
        for _ in range(5):
            given = torch.randn(3, 4, device="cuda")
            torch.testing.assert_close(step(given), model(given))
    assert skips() == 0
    assert len(graphs()) == 1


@pytest.mark.parametrize(
    "way", [pytest.param(WAYS[0], marks=pytest.mark.long), *WAYS[1:]], ids=lambda way: str(*way.values())
)
def test_training(way):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.GELU(), nn.Linear(8, 2)).cuda()
    twin, batches = copy.deepcopy(model), torch.randn(5, 6, 4, device="cuda")

    def losses(network, step):
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
        for batch in batches:
            optimizer.zero_grad()
            loss = step(batch).square().sum()
            loss.backward()
            optimizer.step()
            yield loss.detach()

    torch.testing.assert_close([*losses(model, compiled(model, **way))], [*losses(twin, twin)])
    torch.testing.assert_close(model.state_dict(), twin.state_dict())
    assert skips() == 0
    assert len(graphs()) == 2  # of the second of them, the backward one, the first is the parent


@pytest.mark.parametrize("way", WAYS, ids=lambda way: str(*way.values()))
def test_an_overwritten_output_is_refused(way):
    step, ones = compiled(lambda tensor: tensor * 2, **way), torch.ones(3, device="cuda")
    first = step(ones)
    step(ones + 1)
    with pytest.raises(RuntimeError, match=OVERWRITTEN):
        first.sum()
    with pytest.raises(RuntimeError, match="clone the tensor outside of torch.compile"):
        first.tolist()


def test_a_copy_outlives_the_next_call():
    step, ones = compiled(lambda tensor: tensor * 2), torch.ones(3, device="cuda")
    copies = [step(ones + i).clone() for i in range(4)]
    assert [each[0] for each in copies] == [2, 4, 6, 8]


def test_a_replay_overwrites_what_the_one_before_returned():
    step, ones = compiled(lambda tensor: tensor * 2), torch.ones(3, device="cuda")
    for _ in range(3):
        step(ones)
    first = step(ones)
    second = step(ones + 1)
    assert first.data_ptr() == second.data_ptr()
    assert first.tolist() == [4, 4, 4]


def test_outputs_of_one_step_live_until_the_next():
    step, ones = compiled(lambda tensor: tensor * 2), torch.ones(3, device="cuda")
    for _ in range(4):
        torch.compiler.cudagraph_mark_step_begin()
        first = step(ones)
        second = step(first)
        assert (first.tolist(), second.tolist()) == ([2, 2, 2], [4, 4, 4])
    assert len(graphs()) == 2


def test_python_runs_in_warm_up_and_capture_alone():
    class Summing(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros((), device="cuda"))

        def forward(self, tensor):
            return noted(tensor * 2, self.total) * 3

    model, noted.calls = Summing(), 0
    step = compiled(model)
    results = [step(torch.full((2,), float(i), device="cuda")).tolist() for i in range(5)]
    assert skips() == 0
    assert noted.calls == 2
    assert model.total == 40
    assert results == [[0, 0], [18, 18], [48, 48], [90, 90], [144, 144]]


def test_a_function_of_python_may_not_wait_in_the_capture():
    @torch.library.custom_op("morph_tests::waits", mutates_args=())
    def waits(tensor: torch.Tensor) -> torch.Tensor:
        return tensor * tensor.sum().item()

    waits.register_fake(torch.empty_like)
    step, ones = compiled(lambda tensor: waits(tensor) + 1), torch.ones(2, device="cuda")
    assert step(ones).tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="operation failed due to a previous error during capture"):
        step(ones)


def test_random_numbers_are_new_in_each_replay():
    step, ones = compiled(lambda tensor: F.dropout(tensor, 0.5)), torch.ones(1000, device="cuda")

    def draw():
        torch.cuda.manual_seed(1)
        return [step(ones).clone() for _ in range(4)]

    first, second = draw(), draw()
    assert not any(torch.equal(first[0], other) for other in first[1:])
    assert all(map(torch.equal, first, second))


def test_a_written_input_keeps_a_graph_from_being_captured():
    def body(tensor):
        tensor.add_(1)
        return tensor * 2

    step, ones = compiled(body), torch.ones(2, device="cuda")
    with said() as messages:
        assert [step(ones).tolist() for _ in range(3)] == [[4, 4], [6, 6], [8, 8]]
    assert skips() > 0
    assert any(
        "skipping cudagraphs due to mutated inputs (1 instances). Found from : \n" in each
        for each in messages
    )
    assert any("tensor.add_(1)" in each for each in messages)


def test_work_of_the_host_keeps_a_graph_from_being_captured():
    step = compiled(lambda tensor, host: (tensor * 2, host + 1))
    with said() as messages:
        for _ in range(3):
            mine, its = step(torch.ones(2, device="cuda"), torch.ones(2))
            assert (mine.tolist(), its.tolist()) == ([2, 2], [2, 2])
    assert skips() == 1
    assert any("skipping cudagraphs due to cpu device" in each for each in messages)


def test_numbers_and_empty_tensors_of_the_host_keep_no_graph_from_being_captured():
    step = compiled(lambda tensor: (tensor * torch.tensor(2.0), torch.tensor([])))
    for _ in range(3):
        mine, empty = step(torch.ones(2, device="cuda"))
        assert (mine.tolist(), empty.device.type) == ([2, 2], "cpu")
    assert skips() == 0
    assert len(graphs()) == 1


def test_outputs_that_share_memory_outlive_the_capture_of_the_next_graph():
    halves = compiled(lambda tensor: (tensor * 2).chunk(2))
    later = torch.compile(lambda tensor: tensor + 1, mode="reduce-overhead")
    ones = torch.ones(4, device="cuda")
    for _ in range(4):
        torch.compiler.cudagraph_mark_step_begin()
        first, second = halves(ones)
        third = later(first)
        assert [each.tolist() for each in (first, second, third)] == [[2, 2], [2, 2], [3, 3]]


def test_an_operator_in_python_keeps_its_memory_in_the_capture():
    """What it computes on the way is right in the capture too, where a wrong index would be an error."""
    library = torch.library.Library("morph_tests_captured", "FRAGMENT")
    library.define("rows(Tensor ids, Tensor table) -> Tensor")

    def rows(ids, table):
        ids = ids.long()
        return F.embedding(ids * (ids >= 0), table)

    library.impl("rows", rows, "CUDA")
    torch.library.register_fake("morph_tests_captured::rows", lambda ids, table: table.new_empty(16, 4))
    step = compiled(lambda ids, table: torch.ops.morph_tests_captured.rows(ids + 0, table) * 2)
    ids, table = torch.zeros(16, dtype=torch.int32, device="cuda"), torch.ones(1, 4, device="cuda")
    for _ in range(4):
        assert step(ids, table).sum() == 128
    assert len(graphs()) == 1


def test_several_devices_keep_a_graph_from_being_captured():
    step = compiled(lambda first, second: (first + 1, second + 1))
    with said() as messages:
        step(*(torch.ones(2, device=f"cuda:{index}") for index in range(2)))
    assert any("skipping cudagraphs due to multiple devices" in each for each in messages)


def test_each_shape_has_a_graph():
    step = compiled(lambda tensor: tensor * tensor.shape[0], dynamic=True, mode="reduce-overhead")
    for _ in range(3):
        for rows in (2, 5):
            assert step(torch.ones(rows, 2, device="cuda:1")).sum() == 2 * rows * rows
    assert len(graphs(1)) == 2


def test_memory_does_not_grow():
    model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4)).cuda()
    step, ones = compiled(model), torch.ones(8, 16, device="cuda")
    figures = []
    for _ in range(50):
        model.zero_grad()
        step(ones).sum().backward()
        figures.append(torch.cuda.memory_allocated())
    assert len(set(figures[5:])) == 1
    del step
    torch.compiler.reset()
    assert torch.cuda.memory_allocated() <= figures[-1]

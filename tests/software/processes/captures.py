"""Collectives in graphs: each replay reduces what the tensors of all devices contain then."""

from collections.abc import Callable

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional

from tests.software.processes import ranks


def with_results(rank: int, size: int, given: torch.Tensor) -> list[torch.Tensor]:
    doubled, gathered = given * 2, torch.empty(size * 4, device="cuda")
    dist.all_reduce(doubled)
    dist._all_gather_base(gathered, given)
    reduced = functional.all_reduce(given * 1, "sum", dist.group.WORLD)
    return [doubled + 1, gathered * 1, reduced + 0]


def with_a_work_alone(rank: int, size: int, given: torch.Tensor) -> list[torch.Tensor]:
    exchanged, reduced = torch.zeros_like(given), given * 3
    parts = [torch.zeros_like(given) for _ in range(size)]
    dist.all_to_all_single(exchanged, given * 2)
    dist.reduce(reduced, 1)
    dist.gather(given * 4, parts if rank == 0 else None, 0)
    return [exchanged + 1, reduced + 1, *(part + 1 for part in parts)]


def together(rank: int, size: int, given: torch.Tensor) -> list[torch.Tensor]:
    before, after = torch.zeros(1 << 20, device="cuda"), torch.zeros(1 << 20, device="cuda")
    sent = given[:1].expand(1 << 20).contiguous()
    around = [(dist.irecv, before, rank - 1), (dist.irecv, after, rank + 1)]
    around += [(dist.isend, sent, rank - 1), (dist.isend, sent, rank + 1)]
    for request in dist.batch_isend_irecv([dist.P2POp(what, at, to % size) for what, at, to in around]):
        request.wait()
    tensors = [given * 1, given * 2]
    with dist._coalescing_manager(device=given.device):
        for tensor in tensors:
            dist.all_reduce(tensor)
    return [before + after, *(tensor + 1 for tensor in tensors)]


def one_message(rank: int, size: int, given: torch.Tensor) -> list[torch.Tensor]:
    sent = given * 5
    if rank < size - 1:
        dist.send(sent, rank + 1)
    if rank > 0:
        dist.recv(sent, rank - 1)
    return [sent + 1]


def replayed(rank: int, size: int, step: Callable[[int, int, torch.Tensor], list[torch.Tensor]]) -> None:
    given = torch.full((4,), rank + 1.0, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = step(rank, size, given)
    for _ in range(20):
        given.add_(1)
        graph.replay()
        for result, expected in zip(results, step(rank, size, given), strict=True):
            ranks.same(result, expected.cpu(), "a replay")


def alone(rank: int) -> None:
    """Captures where no other process takes part, so that nothing can communicate."""
    own = torch.ones(4, device="cuda")
    if rank == 0:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            dist.all_reduce(own)
            work = dist.all_reduce(own, async_op=True)
            assert work is not None
            assert work.wait()
            assert work.get_future().wait()[0].data_ptr() == own.data_ptr()
    ranks.same(own, torch.ones(4), "a capture")


def refusals() -> None:
    own = torch.ones(4, device="cuda")
    for attempt in (dist.barrier, lambda: dist.all_reduce(own, async_op=True).is_completed()):  # type: ignore[union-attr]
        with (
            torch.cuda.stream(torch.cuda.current_stream()),  # a failed capture leaves its own stream current
            pytest.raises(RuntimeError, match="failed due to a previous error during capture"),
            torch.cuda.graph(torch.cuda.CUDAGraph()),
        ):
            attempt()


def training(rank: int, size: int) -> None:
    given, stream = torch.ones(3, 4, device="cuda"), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        model = torch.nn.Linear(4, 2, device="cuda")
        parallel = torch.nn.parallel.DistributedDataParallel(model)
        for _ in range(3):
            parallel(given).sum().backward()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        model.zero_grad(set_to_none=False)
        parallel(given).sum().backward()
    given.fill_(rank)
    graph.replay()
    ranks.same(model.weight.grad, torch.full((2, 4), 3 * (size - 1) / 2), "the mean of the gradients")


def work(rank: int, size: int) -> None:
    for step in (with_results, with_a_work_alone, one_message, together):
        replayed(rank, size, step)
    alone(rank)
    refusals()
    training(rank, size)


if __name__ == "__main__":
    ranks.run(torch.cuda.device_count(), work)
    print("done")

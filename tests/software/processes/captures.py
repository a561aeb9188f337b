"""Collectives in graphs: each replay reduces what the tensors of all devices contain then."""

from __future__ import annotations

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional

from tests.software.processes import ranks


def work(rank: int, size: int) -> None:
    given = torch.full((4,), rank + 1.0, device="cuda")

    def step() -> list[torch.Tensor]:
        doubled, gathered = given * 2, torch.empty(size * 4, device="cuda")
        dist.all_reduce(doubled)
        dist._all_gather_base(gathered, given)
        reduced = functional.all_reduce(given * 1, "sum", dist.group.WORLD)
        return [doubled + 1, gathered * 1, reduced + 0]

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = step()
    for _ in range(20):
        given.add_(1)
        graph.replay()
        for result, expected in zip(results, step(), strict=True):
            ranks.same(result, expected.cpu(), "a replay")


if __name__ == "__main__":
    ranks.run(torch.cuda.device_count(), work)
    print("done")

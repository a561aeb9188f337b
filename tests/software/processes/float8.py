"""Reductions of eight bits: each pair of values, as NCCL's kernels for Hopper do it, or NCCL's refusal."""

from __future__ import annotations

import operator
import sys

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from tests.software.processes import ranks

OPERATIONS = {"SUM": operator.add, "PRODUCT": operator.mul, "MIN": torch.minimum, "MAX": torch.maximum}


def rounded(exact: Tensor, dtype: torch.dtype) -> Tensor:
    """Returns what half precision, and then eight bits that have no infinity, hold of exact values."""
    most = torch.finfo(dtype).max
    return exact.half().clamp(-most, most).to(dtype).float()


def pairs(dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Returns every value but NaN beside every other."""
    every = torch.arange(256, dtype=torch.uint8).view(dtype)
    every = every[every.float().isfinite()]
    return every.repeat(len(every)), every.repeat_interleave(len(every))


def reductions(rank: int, size: int) -> None:
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        both = pairs(dtype)
        one, other = (each.double() for each in both)
        expected = {name: rounded(combine(one, other), dtype) for name, combine in OPERATIONS.items()}
        expected["AVG"] = rounded(sum(rounded(each / 2, dtype).double() for each in (one, other)), dtype)
        for name, wanted in expected.items():
            operation = getattr(dist.ReduceOp, name)
            tensor = both[rank].cuda()
            dist.all_reduce(tensor, op=operation)
            assert torch.equal(tensor.cpu().float(), wanted), (name, dtype)
            dist.reduce(tensor.copy_(both[rank]), dst=1, op=operation)
            assert torch.equal(tensor.cpu().float(), wanted if rank else both[0].float()), (name, dtype)
            half = torch.empty(len(wanted) // 2 + 1, dtype=dtype, device="cuda")
            whole = torch.cat([both[rank][: len(half)], both[rank][-len(half) :]]).cuda()
            parts = wanted[: len(half)], wanted[-len(half) :]
            dist.reduce_scatter_tensor(half, whole, op=operation)
            assert torch.equal(half.cpu().float(), parts[rank]), (name, dtype)
            dist.reduce_scatter(half.zero_(), list(whole.chunk(2)), op=operation)
            assert torch.equal(half.cpu().float(), parts[rank]), (name, dtype)
    refused(TypeError, "PreMulSum Data type must be", dist._make_nccl_premul_sum(0.5))
    refused(RuntimeError, "Unsupported Float8", dist.ReduceOp.SUM, torch.float8_e4m3fnuz)


def refused(
    kind: type[Exception], words: str, operation: object, dtype: torch.dtype = torch.float8_e5m2
) -> None:
    with pytest.raises(kind, match=words):
        dist.all_reduce(torch.ones(2).to(dtype).cuda(), op=operation)


def before_hopper(rank: int, size: int) -> None:
    words = "Last error:\nFP8 reduction support begins with sm90 capable devices."
    refused(dist.DistBackendError, words, dist.ReduceOp.SUM)
    parts = [torch.zeros(2, device="cuda").to(torch.float8_e5m2) for _ in range(size)]
    dist.all_gather(parts, torch.full((2,), rank + 1.0).to(torch.float8_e5m2).cuda())  # which only copies
    assert [part.float().tolist() for part in parts] == [[1, 1], [2, 2]]


if __name__ == "__main__":
    ranks.run(2, {"reduced": reductions, "refused": before_hopper}[sys.argv[1]])
    print("done")

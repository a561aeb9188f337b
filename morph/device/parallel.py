"""What torch.nn.parallel.comm calls in C, where neither this build of torch nor the vendor brings it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from morph.device.words import CUDA, Words
from morph.journal import Journal

Tensors = Sequence[Tensor]


def install(words: Words, journal: Journal) -> None:
    """Fill in the functions that are missing.

    Args:
        words: What CUDA's words become.
        journal: Records every rebinding.
    """
    fill_in(journal)


def fill_in(journal: Journal) -> None:
    """Fill in the functions that are missing; ``journal`` records each."""
    for function in (
        _broadcast,
        _broadcast_out,
        _broadcast_coalesced,
        _scatter,
        _scatter_out,
        _gather,
        _gather_out,
    ):
        if not hasattr(torch._C, function.__name__):
            journal.set_attribute(torch._C, function.__name__, function)


def _broadcast(tensor: Tensor, devices: Sequence[int]) -> list[Tensor]:
    return [tensor.to(torch.device(CUDA, index)) for index in devices]


def _broadcast_out(tensor: Tensor, out: Tensors) -> Tensors:
    for each in out:
        each.copy_(tensor)
    return out


def _broadcast_coalesced(tensors: Tensors, devices: Sequence[int], buffer_size: int) -> list[list[Tensor]]:
    return [[tensor.to(torch.device(CUDA, index)) for tensor in tensors] for index in devices]


def _scatter(
    tensor: Tensor, devices: Sequence[int], chunk_sizes: list[int] | None, dim: int, streams: object
) -> tuple[Tensor, ...]:
    chunks = torch.split(tensor, chunk_sizes, dim) if chunk_sizes else tensor.chunk(len(devices), dim)
    pairs = zip(chunks, devices, strict=False)  # a short tensor has fewer chunks than there are devices
    return tuple(chunk.to(torch.device(CUDA, index)) for chunk, index in pairs)


def _scatter_out(tensor: Tensor, out: Tensors, dim: int, streams: object) -> Tensors:
    for target, chunk in zip(out, torch.split(tensor, [each.size(dim) for each in out], dim), strict=True):
        target.copy_(chunk)
    return out


def _gather(tensors: Tensors, dim: int, destination: int | None) -> Tensor:
    on_host = destination == -1
    device = torch.device("cpu") if on_host else torch.device(CUDA, destination or 0)
    return torch.cat([tensor.to(device) for tensor in tensors], dim)


def _gather_out(tensors: Tensors, out: Tensor, dim: int) -> Tensor:
    return out.copy_(torch.cat([tensor.to(out.device) for tensor in tensors], dim))

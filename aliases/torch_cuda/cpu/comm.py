"""The communication of ``torch.cuda.comm`` where all devices are the same one: copies, sums, chunks."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from morph.aliases.torch_cuda.cpu.device import index_of

Tensors = Sequence[torch.Tensor]


def broadcast(
    tensor: torch.Tensor, devices: Iterable[Any] | None = None, *, out: Tensors | None = None
) -> tuple[torch.Tensor, ...]:
    """Return the tensor for its own device and copies for further ones, or fill ``out`` with it.

    Raises:
        RuntimeError: If not exactly one of ``devices`` and ``out`` is given.
    """
    if (devices is None) == (out is None):
        raise RuntimeError(
            f"Exactly one of 'devices' and 'out' must be specified, but got devices={devices} and out={out}"
        )
    if out is not None:
        return tuple(each.copy_(tensor) for each in out)
    places = [index_of(device) for device in devices or ()]
    return tuple(tensor.clone() if place else tensor for place in range(len(places)))


def broadcast_coalesced(
    tensors: Tensors, devices: Iterable[Any], buffer_size: int = 10485760
) -> list[list[torch.Tensor]]:
    """Return, for each device, the tensors that ``broadcast`` returns for it."""
    devices = list(devices)
    return [list(each) for each in zip(*(broadcast(tensor, devices) for tensor in tensors), strict=True)]


def reduce_add(inputs: Tensors, destination: Any = None) -> torch.Tensor:
    """Return the sum of the inputs, which have one shape.

    Raises:
        ValueError: If their shapes differ.
    """
    index_of(destination, optional=True)
    for place, tensor in enumerate(inputs):
        if tensor.size() != inputs[0].size():
            got, expected = ("x".join(map(str, each.size())) for each in (tensor, inputs[0]))
            raise ValueError(f"input {place} has invalid size: got {got}, but expected {expected}")
    return functools.reduce(operator.add, inputs)


def reduce_add_coalesced(
    inputs: Sequence[Tensors], destination: Any = None, buffer_size: int = 10485760
) -> tuple[torch.Tensor, ...]:
    """Return the sums of the first tensors, of the second, and so on."""
    return tuple(reduce_add(group, destination) for group in zip(*inputs, strict=True))


def scatter(
    tensor: torch.Tensor,
    devices: Iterable[Any] | None = None,
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: Any = None,
    *,
    out: Tensors | None = None,
) -> tuple[torch.Tensor, ...]:
    """Return chunks of the tensor along ``dim``, one for each device, or fill ``out`` with them.

    Raises:
        RuntimeError: If ``out`` is given along with what it decides.
    """
    if out is not None:
        if devices is not None or chunk_sizes is not None:
            raise RuntimeError("'devices' and 'chunk_sizes' must not be specified when 'out' is specified")
        chunks = torch.split(tensor, [each.size(dim) for each in out], dim)
        return tuple(each.copy_(chunk) for each, chunk in zip(out, chunks, strict=True))
    count = len([index_of(device) for device in devices or ()])
    return tuple(torch.split(tensor, list(chunk_sizes), dim) if chunk_sizes else tensor.chunk(count, dim))


def gather(
    tensors: Iterable[torch.Tensor], dim: int = 0, destination: Any = None, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """Return the tensors joined along ``dim``, in ``out`` if it is given."""
    if destination not in (-1, "cpu"):
        index_of(destination, optional=True)
    return torch.cat(list(tensors), dim, out=out)

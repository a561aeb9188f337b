"""``torch.cuda.nccl``: collectives between the devices of one process, by copies and arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import reduce as fold
from typing import Any

import torch
from torch import Tensor

from morph.backends import active
from morph.backends.refusal import lacks

Combine = Callable[[Tensor, Tensor], Tensor]
# ncclRedOp_t
_COMBINE: dict[int, Combine] = {0: torch.add, 1: torch.mul, 2: torch.maximum, 3: torch.minimum}
# Programs choose by version: from 2.10 on they average and reduce bfloat16, which every library does
VERSION = (2, 10, 3)


def version() -> tuple[int, int, int]:
    """Return ``VERSION``; process groups that ask for nccl are the backend's."""
    return VERSION


def is_available(tensors: Collection[Tensor]) -> bool:
    """Return whether the collectives take ``tensors``: dense, contiguous, each on a device of its own."""
    backend = active()
    type_ = backend.device_type if backend else "cuda"
    fit = all(not t.is_sparse and t.is_contiguous() and t.device.type == type_ for t in tensors)
    return fit and len({tensor.get_device() for tensor in tensors}) == len(tensors)


def all_reduce(
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor] | None = None,
    op: int = 0,
    streams: Any = None,
    comms: Any = None,
) -> None:
    """Write the combination of ``inputs``, one on each device, to each of ``outputs``."""
    total = _combined(inputs, op)
    _copy([total] * len(inputs), inputs if outputs is None else outputs)


def reduce(
    inputs: Sequence[Tensor],
    output: Tensor | Sequence[Tensor] | None = None,
    root: int = 0,
    op: int = 0,
    streams: Any = None,
    comms: Any = None,
    *,
    outputs: Sequence[Tensor] | None = None,
) -> None:
    """Write the combination of ``inputs`` to ``output`` on the device of rank ``root``."""
    if output is not None and outputs is not None:
        raise ValueError("'output' and 'outputs' can not be both specified")
    chosen = next((given for given in (outputs, output) if given is not None), inputs)
    place = chosen if isinstance(chosen, Tensor) else chosen[root]
    _copy([_combined(inputs, op)], [place])


def broadcast(inputs: Sequence[Tensor], root: int = 0, streams: Any = None, comms: Any = None) -> None:
    """Write the tensor of rank ``root`` to all the others."""
    _check(inputs)
    others = [tensor for rank, tensor in enumerate(inputs) if rank != root]
    _copy([inputs[root]] * len(others), others)


def all_gather(
    inputs: Sequence[Tensor], outputs: Sequence[Tensor], streams: Any = None, comms: Any = None
) -> None:
    """Write all ``inputs``, one after the other, to each of ``outputs``."""
    _check(inputs)
    whole = torch.cat([tensor.reshape(-1).to(inputs[0].device) for tensor in inputs])
    _copy([whole] * len(outputs), outputs)


def reduce_scatter(
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    op: int = 0,
    streams: Any = None,
    comms: Any = None,
) -> None:
    """Write the combination of ``inputs``, cut in as many parts as there are devices, to ``outputs``."""
    parts = _combined(inputs, op).reshape(-1).chunk(len(outputs))
    _copy(parts, outputs)


def _combined(inputs: Sequence[Tensor], op: int) -> Tensor:
    _check(inputs)
    if op not in _COMBINE:
        raise lacks(f"torch.cuda.nccl's operation {op}", f"only {sorted(_COMBINE)} are emulated")
    return fold(_COMBINE[op], [tensor.to(inputs[0].device) for tensor in inputs])


def _copy(sources: Sequence[Tensor], places: Sequence[Tensor]) -> None:
    _check(places)
    with torch.no_grad():
        for source, place in zip(sources, places, strict=True):
            place.copy_(source.reshape(place.shape))


def _check(tensors: Any) -> None:
    if not isinstance(tensors, Collection) or isinstance(tensors, Tensor):
        raise TypeError("Inputs should be a collection of tensors")

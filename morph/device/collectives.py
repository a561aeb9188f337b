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
    inputs: Collection[Tensor],
    outputs: Collection[Tensor] | None = None,
    op: int = 0,
    streams: Any = None,
    comms: Any = None,
) -> None:
    """Write the combination of ``inputs``, one on each device, to each of ``outputs``."""
    _refuse_unfit(inputs, inputs if outputs is None else outputs)
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
    _refuse_unfit(inputs, inputs)
    chosen = next((given for given in (outputs, output) if given is not None), inputs)
    place = chosen if isinstance(chosen, Tensor) else chosen[root]
    _copy([_combined(inputs, op)], [place])


def broadcast(inputs: Sequence[Tensor], root: int = 0, streams: Any = None, comms: Any = None) -> None:
    """Write the tensor of rank ``root`` to all the others."""
    _refuse_unfit(inputs, inputs)
    others = [tensor for rank, tensor in enumerate(inputs) if rank != root]
    _copy([inputs[root]] * len(others), others)


def all_gather(
    inputs: Sequence[Tensor], outputs: Sequence[Tensor], streams: Any = None, comms: Any = None
) -> None:
    """Write all ``inputs``, one after the other, to each of ``outputs``."""
    _refuse_unfit(inputs, outputs, gathered=len(inputs))
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
    _refuse_unfit(inputs, outputs, scattered=len(inputs))
    parts = _combined(inputs, op).reshape(-1).chunk(len(outputs))
    _copy(parts, outputs)


def _combined(inputs: Collection[Tensor], op: int) -> Tensor:
    if op not in _COMBINE:
        raise lacks(f"torch.cuda.nccl's operation {op}", f"only {sorted(_COMBINE)} are emulated")
    first = next(iter(inputs))
    return fold(_COMBINE[op], [tensor.to(first.device) for tensor in inputs])


def _copy(sources: Collection[Tensor], places: Collection[Tensor]) -> None:
    with torch.no_grad():
        for source, place in zip(sources, places, strict=True):
            place.copy_(source.reshape(place.shape))


def _refuse_unfit(
    inputs: Collection[Tensor], outputs: Collection[Tensor], gathered: int = 1, scattered: int = 1
) -> None:
    """Refuse what NCCL's caller in torch refuses: tensors that differ, or that lie on one device."""
    for tensors in (inputs, outputs):
        if not isinstance(tensors, Collection) or isinstance(tensors, Tensor):
            raise TypeError("Inputs should be a collection of tensors")
    if not inputs:
        raise RuntimeError("input sequence can't be empty")
    if len(inputs) != len(outputs):
        lengths = f"input of length {len(inputs)} and output of length {len(outputs)}"
        raise RuntimeError(f"inputs and outputs sequences have to be of the same length, but got {lengths}")
    first = next(iter(inputs))  # a set has no places
    for source, target in zip(inputs, outputs, strict=True):
        _refuse_unlike(source, first)
        _refuse_unlike(target, first)
        if source.get_device() != target.get_device():
            raise RuntimeError("input and output must be on the same device")
        if source.numel() != first.numel():
            raise RuntimeError("all inputs must have the same number of elements")
        if target.numel() * scattered != source.numel() * gathered:
            raise RuntimeError("output must be of size input_size * size_multiplier")
    if len({tensor.get_device() for tensor in inputs}) < len(inputs):
        raise RuntimeError("inputs must be on unique devices")


def _refuse_unlike(tensor: Tensor, first: Tensor) -> None:
    backend = active()
    if tensor.is_sparse or tensor.device.type != (backend.device_type if backend else "cuda"):
        raise RuntimeError("input and output elements have to be cuda dense Tensors")
    if tensor.dtype != first.dtype:
        raise RuntimeError("all inputs and outputs must be of the same Tensor dtype")
    if not tensor.is_contiguous():
        raise RuntimeError("all inputs and outputs have to be contiguous")

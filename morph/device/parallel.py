"""The C functions of torch.nn.parallel.comm, where the vendor has none of its own."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from morph.backends import cuda_build
from morph.base.journal import Journal
from morph.device.words import CUDA, Words

Tensors = Sequence[Tensor]


def install(words: Words, journal: Journal) -> None:
    """Put the functions in place for a vendor's device."""
    place(journal)


def place(journal: Journal) -> None:
    """Fill in the functions that are missing, and replace those of a build for CUDA."""
    for function in (
        _broadcast,
        _broadcast_out,
        _broadcast_coalesced,
        _scatter,
        _scatter_out,
        _gather,
        _gather_out,
    ):
        if cuda_build.leaves_to_us(function.__name__):
            journal.set_attribute(torch._C, function.__name__, function)


def _broadcast(tensor: Tensor, devices: Sequence[int]) -> list[Tensor]:
    return [tensor.to(torch.device(CUDA, index)) for index in devices]


def _broadcast_out(tensor: Tensor, out: Tensors) -> Tensors:
    _refuse_elsewhere(out, "output")
    for place, each in enumerate(out):
        if each.shape != tensor.shape:
            raise RuntimeError(
                f"Expected all output tensors to have same shape as the source tensor {list(tensor.shape)}, "
                f"but output tensor at index {place} has shape {list(each.shape)}"
            )
    for each in out:
        each.copy_(tensor)
    return out


def _broadcast_coalesced(tensors: Tensors, devices: Sequence[int], buffer_size: int) -> list[list[Tensor]]:
    return [[tensor.to(torch.device(CUDA, index)) for tensor in tensors] for index in devices]


def _scatter(
    tensor: Tensor, devices: Sequence[int], chunk_sizes: list[int] | None, dim: int, streams: object
) -> tuple[Tensor, ...]:
    _refuse_none(devices, "device to scatter to")
    if chunk_sizes and len(chunk_sizes) != len(devices):
        raise RuntimeError(
            "Expected devices and chunk_sizes to be of same length, but got "
            f"len(devices) = {len(devices)} and len(chunk_sizes) = {len(chunk_sizes)}"
        )
    chunks = torch.split(tensor, chunk_sizes, dim) if chunk_sizes else tensor.chunk(len(devices), dim)
    pairs = zip(chunks, devices, strict=False)  # a short tensor has fewer chunks than there are devices
    return tuple(chunk.to(torch.device(CUDA, index)) for chunk, index in pairs)


def _scatter_out(tensor: Tensor, out: Tensors, dim: int, streams: object) -> Tensors:
    _refuse_none(out, "output tensor to scatter to")
    _refuse_elsewhere(out, "output")
    length = tensor.size(dim)
    dim = dim % tensor.dim()
    for place, each in enumerate(out):
        if not _is_part_of(each, tensor, dim):
            raise RuntimeError(f"Output tensor at index {place} has incorrect shape: {list(each.shape)}")
    sizes = [each.size(dim) for each in out]
    if sum(sizes) != length:
        raise RuntimeError(
            f"Total size for output tensors along scatter dim {dim} does not match the source tensor size "
            f"at dim {dim}. Expected {length}, but got total size {sum(sizes)}"
        )
    for target, chunk in zip(out, torch.split(tensor, sizes, dim), strict=True):
        target.copy_(chunk)
    return out


def _gather(tensors: Tensors, dim: int, destination: int | None) -> Tensor:
    _refuse_apart(tensors, dim)
    on_host = destination == -1
    device = torch.device("cpu") if on_host else torch.device(CUDA, destination or 0)
    return torch.cat([tensor.to(device) for tensor in tensors], dim)


def _gather_out(tensors: Tensors, out: Tensor, dim: int) -> Tensor:
    _refuse_apart(tensors, dim)
    whole = torch.cat([tensor.to(out.device) for tensor in tensors], dim)
    if whole.shape != out.shape:
        shapes = f"{list(whole.shape)}, but got {list(out.shape)}"
        raise RuntimeError(f"Expected out tensor to have shape {shapes}")
    return out.copy_(whole)


def _refuse_none(given: Sequence[object], what: str) -> None:
    if not given:
        raise RuntimeError(f"Expected at least one {what}")


def _refuse_elsewhere(tensors: Tensors, role: str) -> None:
    kind = torch.device(CUDA, 0).type
    for place, tensor in enumerate(tensors):
        if tensor.device.type != kind:
            raise RuntimeError(
                f"Expected all {role} tensors to be CUDA tensors, "
                f"but {role} tensor at index {place} has device '{tensor.device}'"
            )


def _refuse_apart(tensors: Tensors, dim: int) -> None:
    """Raise if the tensors cannot be gathered."""
    _refuse_none(tensors, "tensor to gather from")
    _refuse_elsewhere(tensors, "input")
    first = tensors[0]
    for place, tensor in enumerate(tensors):
        if tensor.dim() != first.dim():
            raise RuntimeError(
                "Expected all input tensors to have the same number of dimensions, but tensor at index "
                f"{place} has {tensor.dim()} dimensions, (expected {first.dim()})"
            )
        if first.dim() and not _is_part_of(tensor, first, dim % first.dim()):
            raise RuntimeError(
                f"Input tensor at index {place} has invalid shape {list(tensor.shape)}, "
                f"but expected {list(first.shape)} but for dimension {dim}"
            )


def _is_part_of(tensor: Tensor, whole: Tensor, dim: int) -> bool:
    """Return whether the shapes differ in one dimension at most."""
    sizes = [list(each.shape) for each in (tensor, whole)]
    for each in sizes:
        each[dim : dim + 1] = []
    return tensor.dim() == whole.dim() and sizes[0] == sizes[1]

"""The operations of random programs in torch; `operations.py` has the same names for the model."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence


def new(sizes: Sequence[int], start: int, dtype: str, space: str, pinned: bool) -> Tensor:
    count = int(np.prod(sizes, dtype=int))
    options: Any = {"pin_memory": True} if pinned else {}
    values = torch.arange(start, start + count, dtype=getattr(torch, dtype), device=space, **options)
    return values.reshape(tuple(sizes))


def zeros_like(x: Tensor) -> Tensor:
    return torch.zeros_like(x)


def new_zeros(x: Tensor, sizes: Sequence[int]) -> Tensor:
    return x.new_zeros(tuple(sizes))


def numpy(x: Tensor) -> Any:
    return x.numpy()


def from_numpy(array: Any) -> Tensor:
    return torch.from_numpy(array)


def through_dlpack(x: Tensor) -> Tensor:
    return torch.from_dlpack(x.detach())


def to(
    x: Tensor, space: str | None, dtype: str | None = None, copy: bool = False, non_blocking: bool = False
) -> Tensor:
    return x.to(
        device=space and torch.device(space),
        dtype=dtype and getattr(torch, dtype),
        copy=copy,
        non_blocking=non_blocking,
    )


def to_other(x: Tensor, other: Tensor) -> Tensor:
    return x.to(other)


def cpu(x: Tensor) -> Tensor:
    return x.cpu()


def cuda(x: Tensor, index: int | None, current: int) -> Tensor:
    with torch.cuda.device(current):
        return x.cuda(index)


def type_cuda(x: Tensor) -> Tensor:
    return x.type("torch.cuda.FloatTensor")


def pin_memory(x: Tensor) -> Tensor:
    return x.pin_memory()


def share_memory_(x: Tensor) -> Tensor:
    return x.share_memory_()


def clone(x: Tensor) -> Tensor:
    return x.clone()


def contiguous(x: Tensor) -> Tensor:
    return x.contiguous()


def alias(x: Tensor, how: str) -> Tensor:
    if how == "parameter":
        return nn.Parameter(x, requires_grad=False)  # autograd's errors have nothing to do with CUDA
    if how == "data":
        return x.data
    return x.view_as(x) if how == "view_as" else x.detach()


def select(x: Tensor, dimension: int, index: int) -> Tensor:
    return x.select(dimension, index)


def narrow(x: Tensor, dimension: int, start: int, stop: int, step: int) -> Tensor:
    return x[(slice(None),) * dimension + (slice(start, stop, step),)]


def permute(x: Tensor, order: Sequence[int]) -> Tensor:
    return x.permute(tuple(order))


def unsqueeze(x: Tensor, dimension: int) -> Tensor:
    return x.unsqueeze(dimension)


def expand(x: Tensor, count: int) -> Tensor:
    return x.expand(count, *x.shape)


def view(x: Tensor, sizes: Sequence[int]) -> Tensor:
    return x.view(tuple(sizes))


def reshape(x: Tensor, sizes: Sequence[int]) -> Tensor:
    return x.reshape(tuple(sizes))


def as_strided(x: Tensor, sizes: Sequence[int], steps: Sequence[int], offset: int) -> Tensor:
    return x.as_strided(tuple(sizes), tuple(steps), offset)


def diagonal(x: Tensor) -> Tensor:
    return x.diagonal()


def real_view(x: Tensor) -> Tensor:
    return torch.view_as_real(torch.view_as_complex(x))


def plus(x: Tensor, number: int) -> Tensor:
    return x + number


def add(x: Tensor, y: Tensor) -> Tensor:
    return x + y


def cat(x: Tensor, y: Tensor) -> Tensor:
    return torch.cat([x, y])


def add_(x: Tensor, y: Tensor) -> Tensor:
    return x.add_(y)


def plus_(x: Tensor, number: int) -> Tensor:
    x += number
    return x


def fill_(x: Tensor, number: int) -> Tensor:
    return x.fill_(number)


def copy_(x: Tensor, y: Tensor) -> Tensor:
    return x.copy_(y)


def assign(x: Tensor, index: int, y: Tensor | int) -> None:
    x[index] = y


def take(x: Tensor, indices: Tensor) -> Tensor:
    return x[indices]


def put(x: Tensor, indices: Tensor, y: Tensor) -> None:
    x[indices] = y


def set_data(x: Tensor, y: Tensor) -> None:
    x.data = y


def set_(x: Tensor, y: Tensor) -> Tensor:
    return x.set_(y)


def resize_(x: Tensor, sizes: Sequence[int], number: int) -> Tensor:
    return x.resize_(tuple(sizes)).fill_(number)


def swap(x: Tensor, y: Tensor) -> None:
    x.data, y.data = y.data, x.data


def deepcopy(parameters: Sequence[bool], *tensors: Tensor) -> list[Tensor]:
    return copy.deepcopy(list(tensors))


def pickled(*tensors: Tensor) -> list[Tensor]:
    return pickle.loads(pickle.dumps(list(tensors)))  # type: ignore[no-any-return]


def saved(where: str | Mapping[str, str] | None, *tensors: Tensor) -> list[Tensor]:
    file = io.BytesIO()
    torch.save(list(tensors), file)
    file.seek(0)
    return torch.load(file, map_location=where)  # type: ignore[no-any-return]


def move_module(space: str, *parameters: nn.Parameter) -> None:
    _module(parameters).to(space)


def state_dict(*parameters: nn.Parameter) -> list[Tensor]:
    return list(_module(parameters).state_dict().values())


def load_state_dict(x: nn.Parameter, y: Tensor) -> None:
    _module([x]).load_state_dict({"p0": y})


def optimize(*parameters: nn.Parameter) -> None:
    unique = list({id(each): each for each in parameters}.values())
    for each in unique:
        each.grad = torch.ones_like(each)
    torch.optim.SGD(unique, lr=1.0).step()
    for each in unique:
        each.grad = None


def _module(parameters: Sequence[nn.Parameter]) -> nn.Module:
    module = nn.Module()
    for place, each in enumerate(parameters):
        module.register_parameter(f"p{place}", each)
    return module


def packed(x: Tensor, space: str) -> Tensor:
    return PackedSequence(x, torch.tensor([x.shape[0]])).to(space).data


def through_sparse(x: Tensor, space: str) -> Tensor:
    return x.to_sparse().to(space).to_dense()


def share_storage(x: Tensor) -> Tensor:
    return torch.empty(0, dtype=x.dtype, device=x.device).set_(x.untyped_storage())


def item(x: Tensor) -> None:
    x.sum().item()

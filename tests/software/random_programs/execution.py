"""The operations of random programs in torch; `operations.py` has the same names for the model."""

import copy
import io
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence


def _new(sizes: Sequence[int], start: int, dtype: str, space: str, pinned: bool) -> Tensor:
    count = int(np.prod(sizes, dtype=int))
    options: Any = {"pin_memory": True} if pinned else {}
    values = torch.arange(start, start + count, dtype=getattr(torch, dtype), device=space, **options)
    return values.reshape(tuple(sizes))


def _to(x: Tensor, space: str | None, dtype: str | None, copy: bool, non_blocking: bool) -> Tensor:
    device, kind = space and torch.device(space), dtype and getattr(torch, dtype)
    moved = x.to(device=device, dtype=kind, copy=copy, non_blocking=non_blocking)
    for each in range(torch.cuda.device_count()):
        torch.cuda.synchronize(each)
    return moved


def _cuda(x: Tensor, index: int | None, current: int) -> Tensor:
    with torch.cuda.device(current):
        return x.cuda(index)


ALIASES: dict[str, Callable[[Tensor], Tensor]] = {
    "detach": Tensor.detach,
    "data": lambda x: x.data,
    "view_as": lambda x: x.view_as(x),
    "parameter": lambda x: nn.Parameter(x, requires_grad=False),  # autograd's errors are none of CUDA's
}


def _swap(x: Tensor, y: Tensor) -> None:
    x.data, y.data = y.data, x.data


def _plus_(x: Tensor, number: int) -> Tensor:
    x += number
    return x


def _saved(where: str | Mapping[str, str] | None, *tensors: Tensor) -> list[Tensor]:
    file = io.BytesIO()
    torch.save(list(tensors), file)
    file.seek(0)
    return torch.load(file, map_location=where)  # type: ignore[no-any-return]


def _module(*parameters: nn.Parameter) -> nn.Module:
    module = nn.Module()
    for place, each in enumerate(parameters):
        module.register_parameter(f"p{place}", each)
    return module


def _optimize(*parameters: nn.Parameter) -> None:
    unique = list({id(each): each for each in parameters}.values())
    for each in unique:
        each.grad = torch.ones_like(each)
    torch.optim.SGD(unique, lr=1.0).step()
    for each in unique:
        each.grad = None


def _nothing(*_: object) -> None:
    """Returns nothing: what the call before has returned is no variable of the program."""


OPERATIONS: dict[str, Callable[..., Any]] = {
    "new": _new,
    "zeros_like": torch.zeros_like,
    "new_zeros": Tensor.new_zeros,
    # moves
    "to": _to,
    "to_other": Tensor.to,
    "cpu": Tensor.cpu,
    "cuda": _cuda,
    "type_cuda": lambda x: x.type("torch.cuda.FloatTensor"),
    "pin_memory": Tensor.pin_memory,
    "share_memory_": Tensor.share_memory_,
    # what shares memory, or copies it
    "numpy": Tensor.numpy,
    "from_numpy": torch.from_numpy,
    "through_dlpack": lambda x: torch.from_dlpack(x.detach()),
    "clone": Tensor.clone,
    "contiguous": Tensor.contiguous,
    "alias": lambda x, how: ALIASES[how](x),
    "share_storage": lambda x: torch.empty(0, dtype=x.dtype, device=x.device).set_(x.untyped_storage()),
    "item": lambda x: _nothing(x.sum().item()),
    # views
    "select": Tensor.select,
    "narrow": lambda x, dim, start, stop, step: x[(slice(None),) * dim + (slice(start, stop, step),)],
    "permute": Tensor.permute,
    "unsqueeze": Tensor.unsqueeze,
    "expand": lambda x, count: x.expand(count, *x.shape),
    "view": Tensor.view,
    "reshape": Tensor.reshape,
    "as_strided": Tensor.as_strided,
    "diagonal": Tensor.diagonal,
    "real_view": lambda x: torch.view_as_real(torch.view_as_complex(x)),
    # arithmetic
    "plus": lambda x, number: x + number,
    "add": lambda x, y: x + y,
    "cat": lambda x, y: torch.cat([x, y]),
    "add_": Tensor.add_,
    "plus_": _plus_,
    "fill_": Tensor.fill_,
    "copy_": Tensor.copy_,
    "assign": lambda x, index, y: x.__setitem__(index, y),
    "take": lambda x, indices: x[indices],
    "put": lambda x, indices, y: x.__setitem__(indices, y),
    # storages
    "set_data": lambda x, y: setattr(x, "data", y),
    "set_": Tensor.set_,
    "resize_": lambda x, sizes, number: x.resize_(sizes).fill_(number),
    "swap": _swap,
    # files and copies
    "deepcopy": lambda parameters, *tensors: copy.deepcopy(list(tensors)),
    "pickled": lambda *tensors: pickle.loads(pickle.dumps(list(tensors))),
    "saved": _saved,
    # modules and optimizers
    "move_module": lambda space, *parameters: _nothing(_module(*parameters).to(space)),
    "state_dict": lambda *parameters: list(_module(*parameters).state_dict().values()),
    "load_state_dict": lambda x, y: _nothing(_module(x).load_state_dict({"p0": y})),
    "optimize": _optimize,
    "packed": lambda x, space: PackedSequence(x, torch.tensor([x.shape[0]])).to(space).data,
    "through_sparse": lambda x, space: x.to_sparse().to(space).to_dense(),
}

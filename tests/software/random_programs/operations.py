"""The operations of random programs as CUDA performs them, on tensors of the model.

An operation returns the same object where torch does. `execution.py` has the same names for torch.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tests.software.random_programs import strides as rules
from tests.software.random_programs.model import (
    DEVICES,
    HOST,
    MIXED,
    Memory,
    RefusedError,
    Storage,
    Tensor,
    borrowed,
    copied,
    fresh,
    full_index,
    same_device,
    writable,
)

INDICES = np.dtype("int64")


def new(sizes: Sequence[int], start: int, dtype: str, space: str, pinned: bool) -> Tensor:
    values = np.arange(start, start + math.prod(sizes)).astype(dtype).reshape(sizes)
    return fresh(values, full_index(space), pinned=pinned)


def zeros_like(x: Tensor) -> Tensor:
    return fresh(np.zeros(x.sizes, x.dtype), x.space, rules.of_a_copy(x.sizes, x.strides))


def new_zeros(x: Tensor, sizes: Sequence[int]) -> Tensor:
    return fresh(np.zeros(sizes, x.dtype), x.space)


def numpy(x: Tensor) -> Tensor:
    if x.space != HOST:
        raise RefusedError(f"can't convert {x.space} device type tensor to numpy")
    return x.on(x.sizes, x.strides)


def from_numpy(array: Tensor) -> Tensor:
    return borrowed(array)


def through_dlpack(x: Tensor) -> Tensor:
    if x.space == DEVICES[1]:
        raise RefusedError("Can't export tensors on a different CUDA device index")
    return borrowed(x)


def to(
    x: Tensor, space: str | None, dtype: str | None = None, copy: bool = False, non_blocking: bool = False
) -> Tensor:
    target, kind = full_index(space or x.space), np.dtype(dtype or x.dtype)
    if target == x.space and kind == x.dtype and not copy:
        return x
    return copied(x, target, kind, pinned=non_blocking and x.space != HOST and target == HOST)


def to_other(x: Tensor, other: Tensor) -> Tensor:
    return to(x, other.space, str(other.dtype))


def cpu(x: Tensor) -> Tensor:
    return to(x, HOST)


def cuda(x: Tensor, index: int | None, current: int) -> Tensor:
    return to(x, DEVICES[current if index is None else index])


def type_cuda(x: Tensor) -> Tensor:
    """``x.type("torch.cuda.FloatTensor")``, which does not move a tensor that is on a device."""
    return to(x, DEVICES[0] if x.space == HOST else x.space, "float32")


def pin_memory(x: Tensor) -> Tensor:
    if x.space != HOST:
        raise RefusedError("only dense CPU tensors can be pinned")
    if x.storage.memory.pinned:
        return x
    made = fresh(x.view.copy(), HOST, x.strides, pinned=True)
    made.storage.resizable = False
    return made


def share_memory_(x: Tensor) -> Tensor:
    if x.space == HOST and not x.storage.memory.shared:
        x.storage.memory = Memory(x.storage.memory.data.copy(), shared=True)
    return x


def clone(x: Tensor) -> Tensor:
    return copied(x, x.space)


def contiguous(x: Tensor) -> Tensor:
    return x if rules.is_contiguous(x.sizes, x.strides) else fresh(x.view.copy(), x.space)


def alias(x: Tensor, how: str) -> Tensor:
    """Another tensor on the same storage: ``detach``, ``data``, ``view_as`` or a parameter."""
    return view(x, x.sizes) if how == "view_as" else x.on(x.sizes, x.strides)


def select(x: Tensor, dimension: int, index: int) -> Tensor:
    sizes, steps = list(x.sizes), list(x.strides)
    offset = x.offset + index * steps.pop(dimension)
    del sizes[dimension]
    return x.on(sizes, steps, offset)


def narrow(x: Tensor, dimension: int, start: int, stop: int, step: int) -> Tensor:
    sizes, steps = list(x.sizes), list(x.strides)
    sizes[dimension] = -(-(stop - start) // step)
    offset = x.offset + start * steps[dimension]
    steps[dimension] *= step
    return x.on(sizes, steps, offset)


def permute(x: Tensor, order: Sequence[int]) -> Tensor:
    return x.on([x.sizes[each] for each in order], [x.strides[each] for each in order])


def unsqueeze(x: Tensor, dimension: int) -> Tensor:
    sizes, steps = list(x.sizes), list(x.strides)
    steps.insert(dimension, sizes[dimension] * steps[dimension] if dimension < len(sizes) else 1)
    sizes.insert(dimension, 1)
    return x.on(sizes, steps)


def expand(x: Tensor, count: int) -> Tensor:
    return x.on((count, *x.sizes), (0, *x.strides))


def view(x: Tensor, sizes: Sequence[int]) -> Tensor:
    steps = rules.of_a_view(x.sizes, x.strides, sizes)
    if steps is None:
        raise RefusedError("view size is not compatible with input tensor's size and stride")
    return x.on(sizes, steps)


def reshape(x: Tensor, sizes: Sequence[int]) -> Tensor:
    steps = rules.of_a_view(x.sizes, x.strides, sizes)
    return fresh(x.view.reshape(sizes), x.space) if steps is None else x.on(sizes, steps)


def as_strided(x: Tensor, sizes: Sequence[int], steps: Sequence[int], offset: int) -> Tensor:
    return x.on(sizes, steps, offset)


def diagonal(x: Tensor) -> Tensor:
    return x.on((*x.sizes[2:], min(x.sizes[:2])), (*x.strides[2:], x.strides[0] + x.strides[1]))


def real_view(x: Tensor) -> Tensor:
    """``torch.view_as_real(torch.view_as_complex(x))``, for a last dimension of two."""
    return x.on(x.sizes, x.strides)


def plus(x: Tensor, number: int) -> Tensor:
    values = (x.view + np.asarray(number).astype(x.dtype)).astype(x.dtype)
    return fresh(values, x.space, rules.of_a_result(x.sizes, x.strides, number=True))


def add(x: Tensor, y: Tensor) -> Tensor:
    space = same_device(x, y)
    layouts = [each.strides for each in (x, y) if each.sizes]
    sizes = max(x.sizes, y.sizes, key=len)
    strides = rules.of_a_result(sizes, *layouts, number=x.sizes != y.sizes) if layouts else ()
    return fresh((x.view + y.view).astype(x.dtype), space, strides)


def cat(x: Tensor, y: Tensor) -> Tensor:
    if x.space != y.space:
        raise RefusedError(MIXED)
    return fresh(np.concatenate([x.view, y.view]), x.space)


def add_(x: Tensor, y: Tensor) -> Tensor:
    if x.space != y.space and (y.sizes or y.space != HOST):
        raise RefusedError(MIXED)
    writable(x)
    x.view[...] += y.view
    return x


def plus_(x: Tensor, number: int) -> Tensor:
    writable(x)
    x.view[...] += np.asarray(number).astype(x.dtype)
    return x


def fill_(x: Tensor, number: int) -> Tensor:
    x.view[...] = number
    return x


def copy_(x: Tensor, y: Tensor) -> Tensor:
    writable(x)
    x.view[...] = y.view
    return x


def assign(x: Tensor, index: int, y: Tensor | int) -> None:
    """``x[index] = y``, which copies from any device."""
    target = select(x, 0, index)
    number = not isinstance(y, Tensor) or (not y.sizes and y.space == HOST)
    if not number or x.space == HOST:
        writable(target)  # otherwise it is filled
    target.view[...] = y.view if isinstance(y, Tensor) else y


def take(x: Tensor, indices: Tensor) -> Tensor:
    """``x[indices]``."""
    _check_indices(x, indices)
    return fresh(x.view[indices.view], x.space)


def put(x: Tensor, indices: Tensor, y: Tensor) -> None:
    """``x[indices] = y``; a scalar may be on any device, and Python drops leading dimensions of size one."""
    _check_indices(x, indices)
    if x.space != y.space and set(y.sizes) - {1}:
        raise RefusedError(MIXED)
    writable(x)
    x.view[indices.view] = y.view


def _check_indices(x: Tensor, indices: Tensor) -> None:
    if indices.space not in (HOST, x.space):
        raise RefusedError("indices should be either on cpu or on the same device as the indexed tensor")


def set_data(x: Tensor, y: Tensor) -> None:
    x.become(y)


def set_(x: Tensor, y: Tensor) -> Tensor:
    if x.space != y.space:
        raise RefusedError("the devices must match")
    x.become(y)
    return x


def resize_(x: Tensor, sizes: Sequence[int], number: int) -> Tensor:
    """``x.resize_(sizes).fill_(number)``."""
    needed, storage = x.offset + math.prod(sizes), x.storage
    if needed > storage.size:
        if not storage.resizable:
            raise RefusedError("Trying to resize storage that is not resizable")
        data = np.zeros(needed, x.dtype)
        data[: storage.size] = storage.memory.data
        storage.memory = Memory(data, storage.memory.pinned)
    if tuple(sizes) != x.sizes:
        x.sizes, x.strides = tuple(sizes), rules.contiguous(sizes)
    return fill_(x, number)


def swap(x: Tensor, y: Tensor) -> None:
    mine = x.on(x.sizes, x.strides)
    x.become(y)
    y.become(mine)


def deepcopy(parameters: Sequence[bool], *tensors: Tensor) -> list[Tensor]:
    """Copies the tensors: parameters are cloned, other tensors still share their storages."""
    others = [each for each, is_parameter in zip(tensors, parameters, strict=True) if not is_parameter]
    rebuilt = iter(_rebuilt(others, lambda space: space))
    clones = {id(each): clone(each) for each in tensors}
    pairs = zip(tensors, parameters, strict=True)
    return [clones[id(each)] if is_parameter else next(rebuilt) for each, is_parameter in pairs]


def pickled(*tensors: Tensor) -> list[Tensor]:
    """Pickles each tensor, which gives each a storage of its own."""
    made = {id(each): _rebuilt([each], lambda space: space)[0] for each in tensors}
    return [made[id(each)] for each in tensors]


def saved(where: str | Mapping[str, str] | None, *tensors: Tensor) -> list[Tensor]:
    """``torch.load(…, map_location=where)`` of what ``torch.save`` wrote."""

    def place(space: str) -> str:
        return full_index(where) if isinstance(where, str) else (where or {}).get(space, space)

    loaded = _rebuilt(tensors, place)
    for each in loaded:
        each.storage.resizable = each.space != HOST  # on the host it is part of the file that was read
    return loaded


def _rebuilt(tensors: Sequence[Tensor], place: Callable[[str], str]) -> list[Tensor]:
    storages: dict[int, Storage] = {}
    made: dict[int, Tensor] = {}
    for each in tensors:
        if id(each.storage) not in storages:
            known = each.storage
            memory = Memory(known.memory.data[known.start : known.start + known.size].copy())
            storages[id(known)] = Storage(place(each.space), memory)
        if id(each) not in made:
            made[id(each)] = Tensor(storages[id(each.storage)], each.sizes, each.strides, each.offset)
    return [made[id(each)] for each in tensors]


def move_module(space: str, *parameters: Tensor) -> None:
    """``module.to(space)``: each parameter takes over the moved tensor."""
    for each in _once(parameters):
        each.become(to(each, space))


def state_dict(*parameters: Tensor) -> list[Tensor]:
    return [each.on(each.sizes, each.strides) for each in parameters]


def load_state_dict(x: Tensor, y: Tensor) -> None:
    copy_(x, y)


def optimize(*parameters: Tensor) -> None:
    """A step of SGD with a learning rate of one and gradients of one."""
    for each in _once(parameters):
        each.view[...] -= np.asarray(1).astype(each.dtype)


def _once(tensors: Sequence[Tensor]) -> list[Tensor]:
    return list({id(each): each for each in tensors}.values())


def packed(x: Tensor, space: str) -> Tensor:
    """The data of ``PackedSequence(x, …).to(space)``."""
    return to(x, space)


def through_sparse(x: Tensor, space: str) -> Tensor:
    """``x.to_sparse().to(space).to_dense()``."""
    return fresh(x.view.copy(), full_index(space))


def share_storage(x: Tensor) -> Tensor:
    """A tensor over the whole storage: ``torch.tensor([]).set_(x.untyped_storage())``."""
    return Tensor(x.storage, (x.storage.size,), (1,), 0)


def item(x: Tensor) -> None:
    """``x.sum().item()``, which changes nothing."""

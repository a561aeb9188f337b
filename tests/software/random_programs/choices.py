"""The steps of random programs: each choice proposes a step that is meaningful at that point."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.software.random_programs import operations
from tests.software.random_programs import strides as rules
from tests.software.random_programs.model import DEVICES, HOST, Tensor
from tests.software.random_programs.programs import Choice, Made, Program, Variable

SPACES = (HOST, "cuda", *DEVICES)
DTYPES = ("float32", "int64", "float64")


def _make(p: Program) -> Made:
    sizes = [p.number(1, 3) for _ in range(p.number(0, 3))]
    space = p.one_of(SPACES)
    pinned = space == HOST and p.number(0, 3) == 0
    return "new", tuple(sizes), p.next_start(), p.one_of(("float32", "float32", *DTYPES)), space, pinned


def _unary(name: str, *arguments: Callable[[Program], Any], fits: Any = lambda x: True) -> Choice:
    def choose(p: Program) -> Made:
        x = p.tensor(fits)
        return x and (name, x, *(argument(p) for argument in arguments))

    return choose


def _dense(x: Tensor) -> bool:
    return rules.is_dense(x.sizes, x.strides)


def _no_overlap(x: Tensor) -> bool:
    """Whether writing is well defined: no elements overlap, or torch detects that they do."""
    places = np.arange(len(x.storage.memory.data))
    seen = np.lib.stride_tricks.as_strided(places, x.sizes, [stride * 8 for stride in x.strides])
    return len(np.unique(seen)) == seen.size or rules.overlaps_itself(x.sizes, x.strides)


def _with_dimensions(least: int) -> Callable[[Tensor], bool]:
    return lambda x: len(x.sizes) >= least


def _to(p: Program) -> Made:
    x = p.tensor()
    dtype = p.one_of((None, None, *DTYPES))
    return x and ("to", x, p.one_of((None, *SPACES)), dtype, p.number(0, 2) == 0, p.number(0, 1) == 1)


def _cuda(p: Program) -> Made:
    x = p.tensor()
    return x and ("cuda", x, p.one_of((None, None, 0, 1)), p.number(0, 1))


def _narrow(p: Program) -> Made:
    x = p.tensor(_with_dimensions(1))
    if x is None:
        return None
    dimension = p.number(0, len(p.of(x).sizes) - 1)
    start = p.number(0, p.of(x).sizes[dimension] - 1)
    return "narrow", x, dimension, start, p.number(start + 1, p.of(x).sizes[dimension]), p.number(1, 2)


def _select(p: Program) -> Made:
    x = p.tensor(_with_dimensions(1))
    if x is None:
        return None
    dimension = p.number(0, len(p.of(x).sizes) - 1)
    return "select", x, dimension, p.number(0, p.of(x).sizes[dimension] - 1)


def _permute(p: Program) -> Made:
    x = p.tensor(_with_dimensions(2))
    if x is None:
        return None
    order = list(range(len(p.of(x).sizes)))
    return "permute", x, tuple(sorted(order, key=lambda _: p.number(0, 99)))


def _unsqueeze(p: Program) -> Made:
    x = p.tensor(lambda x: len(x.sizes) < 4)
    return x and ("unsqueeze", x, p.number(0, len(p.of(x).sizes)))


def _sizes(p: Program, count: int) -> tuple[int, ...]:
    first = p.one_of([each for each in range(1, count + 1) if count % each == 0])
    return p.one_of([(count,), (first, count // first), (first, 1, count // first)])  # type: ignore[no-any-return]


def _view(p: Program) -> Made:
    x = p.tensor()
    return x and (p.one_of(("view", "reshape")), x, _sizes(p, p.of(x).numel))


def _as_strided(p: Program) -> Made:
    x = p.tensor()
    if x is None:
        return None
    room = p.of(x).storage.size
    offset = p.number(0, room - 1)
    size = p.number(1, room - offset)
    step = p.number(1, max(1, (room - offset - 1) // max(size - 1, 1)))
    return "as_strided", x, (size,), (step if size > 1 else 1,), offset


def _pair(name: str, alike: Callable[[Tensor, Tensor], bool], fits: Any = _no_overlap) -> Choice:
    def choose(p: Program) -> Made:
        x = p.tensor(fits)
        if x is None:
            return None
        mine = p.of(x)
        separate = lambda y: y.storage.memory is not mine.storage.memory and alike(mine, y)  # noqa: E731
        y = p.tensor(separate)
        return y and (name, x, y)

    return choose


def _same(x: Tensor, y: Tensor) -> bool:
    return (x.sizes, x.dtype) == (y.sizes, y.dtype)


def _same_or_number(x: Tensor, y: Tensor) -> bool:
    return x.dtype == y.dtype and y.sizes in ((), x.sizes)


def _cat(x: Tensor, y: Tensor) -> bool:
    return bool(x.sizes) and (x.sizes[1:], x.dtype, len(x.sizes)) == (y.sizes[1:], y.dtype, len(y.sizes))


def _assign(p: Program) -> Made:
    x = p.tensor(lambda x: bool(x.sizes) and _no_overlap(x))
    if x is None:
        return None
    mine = p.of(x)
    y = p.tensor(lambda y: y.storage.memory is not mine.storage.memory and y.sizes == mine.sizes[1:])
    return "assign", x, p.number(0, mine.sizes[0] - 1), y or p.number(1, 9)


def _indices(p: Program, size: int) -> Variable | None:
    fit = lambda x: x.dtype == operations.INDICES and len(x.sizes) == 1 and x.view.max() < size  # noqa: E731
    return p.tensor(lambda x: fit(x) and x.view.min() >= 0 and len(np.unique(x.view)) == x.numel)


def _take(p: Program) -> Made:
    x = p.tensor(lambda x: len(x.sizes) == 1)
    indices = x and _indices(p, p.of(x).sizes[0])
    return indices and ("take", x, indices)


def _put(p: Program) -> Made:
    x = p.tensor(lambda x: len(x.sizes) == 1 and _no_overlap(x))
    indices = x and _indices(p, p.of(x).sizes[0])
    if x is None or indices is None:
        return None
    mine, many = p.of(x), p.of(indices).sizes
    apart = lambda y: y.storage.memory is not mine.storage.memory and y.dtype == mine.dtype  # noqa: E731
    y = p.tensor(lambda y: apart(y) and y.sizes in ((), many))
    if y is None or p.of(indices).storage.memory is mine.storage.memory:
        return None
    return "put", x, indices, y


def _make_indices(p: Program) -> Made:
    return "new", (p.number(1, 2),), p.number(0, 1), "int64", p.one_of(SPACES), False


def _resize(p: Program) -> Made:
    sizes = tuple(p.number(1, 3) for _ in range(p.number(1, 3)))

    def fits(x: Tensor) -> bool:
        memory = x.storage.memory
        if not _dense(x) or any(p.variables[n].storage.memory is memory for n in p.parameters):
            return False
        may_grow = x.storage.resizable and p.owns(x) and not memory.shared
        return may_grow or x.offset + math.prod(sizes) <= x.storage.size

    numbers = [n for n, x in enumerate(p.variables) if n not in p.arrays and fits(x)]
    return ("resize_", Variable(p.one_of(numbers)), sizes, p.number(1, 9)) if numbers else None


def _share(p: Program) -> Made:
    x = p.tensor(p.owns)
    return x and ("share_memory_", x)


def _several(name: str) -> Choice:
    def choose(p: Program) -> Made:
        chosen = [x for x in (p.tensor() for _ in range(p.number(1, 3))) if x]
        return (name, *chosen) if chosen else None

    return choose


def _deepcopy(p: Program) -> Made:
    chosen = [x for x in (p.tensor() for _ in range(p.number(1, 3))) if x]
    return ("deepcopy", tuple(x.number in p.parameters for x in chosen), *chosen) if chosen else None


def _saved(p: Program) -> Made:
    chosen = [x for x in (p.tensor() for _ in range(p.number(1, 3))) if x]
    where = p.one_of((None, None, *SPACES, {"cuda:0": "cuda:1"}, {"cuda:1": "cpu", "cpu": "cuda:0"}))
    return ("saved", where, *chosen) if chosen else None


def _parameters(name: str, *first: Any, fits: Any = lambda x: True) -> Choice:
    def choose(p: Program) -> Made:
        chosen = [x for x in (p.parameter(fits) for _ in range(p.number(1, 2))) if x]
        return (name, *(each(p) for each in first), *chosen) if chosen else None

    return choose


def _load_state(p: Program) -> Made:
    x = p.parameter(_no_overlap)
    if x is None:
        return None
    mine = p.of(x)
    y = p.tensor(lambda y: y.storage.memory is not mine.storage.memory and y.sizes == mine.sizes)
    return y and ("load_state_dict", x, y)


def _from_numpy(p: Program) -> Made:
    array = p.array()
    return array and ("from_numpy", array)


def _space(p: Program) -> Any:
    return p.one_of(SPACES)


def _how(p: Program) -> Any:
    return p.one_of(("detach", "data", "view_as", "parameter", "parameter"))


def _small(p: Program) -> int:
    return p.number(1, 9)


def _even(x: Tensor) -> bool:
    if not x.sizes or x.sizes[-1] != 2 or x.strides[-1] != 1 or x.dtype.kind != "f" or x.offset % 2:
        return False
    return all(stride % 2 == 0 for stride in x.strides[:-1]) and x.storage.size % 2 == 0


CHOICES: list[Choice] = [
    _make,
    *[_make, _make_indices],
    # moves
    *[_to, _to, _to, _cuda, _cuda, _unary("cpu"), _unary("cpu"), _unary("type_cuda")],
    *[_pair("to_other", lambda x, y: True), _unary("pin_memory", fits=_dense), _share],
    # what shares memory, or copies it
    *[_unary("numpy"), _unary("numpy"), _from_numpy, _from_numpy, _unary("through_dlpack")],
    *[_unary("alias", _how)] * 3,
    *[_unary("clone"), _unary("contiguous"), _unary("zeros_like"), _unary("share_storage"), _unary("item")],
    _unary("new_zeros", lambda p: (p.number(1, 3), 2)),
    # views
    *[_select, _narrow, _narrow, _permute, _permute, _unsqueeze, _view, _view, _as_strided],
    _unary("expand", lambda p: p.number(2, 3), fits=lambda x: len(x.sizes) < 3),
    _unary("diagonal", fits=_with_dimensions(2)),
    _unary("real_view", fits=_even),
    # arithmetic
    *[
        _unary("plus", _small),
        _pair("add", _same, lambda x: True),
        _pair("add", _same_or_number, lambda x: True),
    ],
    *[_pair("cat", _cat), _pair("add_", _same), _pair("add_", _same_or_number)],
    *[_unary("plus_", _small, fits=_no_overlap)] * 2,
    _unary("fill_", _small, fits=_no_overlap),
    *[_pair("copy_", lambda x, y: x.sizes == y.sizes)] * 2,
    *[_assign, _assign, _take, _put],
    # storages
    *[_pair(name, lambda x, y: x.dtype == y.dtype) for name in ("set_data", "set_", "swap")],
    _resize,
    # files and copies
    *[_deepcopy, _several("pickled"), _saved, _saved],
    # modules and optimizers
    *[_parameters("move_module", _space), _parameters("move_module", _space), _parameters("state_dict")],
    *[_load_state, _parameters("optimize", fits=lambda x: _dense(x) and x.dtype.kind == "f")],
    *[_unary(name, _space, fits=_with_dimensions(1)) for name in ("packed", "through_sparse")],
]


def program(seed: int) -> Program:
    """Returns the random program of a seed."""
    return Program(seed, CHOICES)

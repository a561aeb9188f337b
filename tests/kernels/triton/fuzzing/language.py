"""Triton's language in numpy, as far as random kernels speak it: their text runs in Python and in Triton."""

import builtins
import operator
from types import SimpleNamespace

import numpy as np

from tests.kernels.triton.fuzzing.numbers import DIGITS, EIGHT_BITS, FLOATS, INTEGERS, rounding, storage
from tests.kernels.triton.fuzzing.values import Tensor, alike, computed, of_product

SLACK = 1e-6


def namespace(instance=0):
    """Return what a kernel's text knows in one of its instances."""
    jit = lambda *of, **options: of[0] if of else lambda function: function  # noqa: E731
    tl = SimpleNamespace(**NAMES, program_id=lambda axis: integer(instance))
    return {"tl": tl, "range": range, "triton": SimpleNamespace(jit=jit)}


def integer(number):
    return Tensor(np.int32(number), "int32")


def range(*bounds):
    return map(integer, builtins.range(*(operator.index(bound) for bound in bounds)))


# memory


def load(pointer, mask=None, other=0):
    memory, (places, chosen) = pointer.memory, pointer.chosen(mask)
    found = np.full(chosen.shape, getattr(other, "array", other), memory.array.dtype)
    found[chosen] = memory.array[places]
    return Tensor(found, memory.type)


def store(pointer, value, mask=None):
    memory, (places, chosen) = pointer.memory, pointer.chosen(mask)
    memory.array[places] = np.broadcast_to(value.array, chosen.shape)[chosen]
    error = 0 if value.error is None else value.error
    memory.error[places] = np.broadcast_to(error, chosen.shape)[chosen]


def atomic(function):
    def change(pointer, value, mask=None):
        places, chosen = pointer.chosen(mask)
        function.at(pointer.memory.array, places, value.array[chosen])

    return change


# functions of each element


def binary(function):
    return lambda first, second: (lambda a, b: computed(a.type, function, a, b))(*alike(first, second))


def unary(function, error=None):
    """Return a function of each element, exact unless an error is given, to which rounding is added."""

    def compute(x):
        def spread(result, arrays, errors):
            return error(result, errors[0]) + 4 * rounding(result, x.type)

        return computed(x.type, function, x, error=error and spread, is_exact=error is None)

    return compute


def where(condition, first, second):
    def error(result, arrays, errors):
        return np.where(arrays[0], errors[1], errors[2])

    a, b = alike(first, second)
    return computed(a.type, np.where, condition, a, b, error=error)


def fma(*of):
    def error(result, arrays, errors):
        product = of_product(result, arrays[:2], errors[:2])
        return product + errors[2] + rounding(arrays[0] * arrays[1], of[0].type)

    return computed(of[0].type, lambda x, y, z: x * y + z, *of, error=error, is_exact=False)


# functions of a whole axis


def reduction(function):
    def reduce(x, axis):
        def error(result, arrays, errors):
            return errors[0].max(axis)

        return computed(x.type, lambda a: function.reduce(a, axis, a.dtype), x, error=error)

    return reduce


def total(x, axis):
    if x.type not in FLOATS:
        return reduction(np.add)(x, axis)

    def error(result, arrays, errors):
        largest = np.abs(arrays[0]).sum(axis)
        return errors[0].sum(axis) + arrays[0].shape[axis] * largest * DIGITS[x.type] + 1e-37

    return computed(x.type, lambda a: a.sum(axis, np.float64), x, error=error, is_exact=False)


def place(function):
    return lambda x, axis: computed("int32", lambda a: function(a, axis), x)


def associative_scan(values, axis, combine, reverse=False):
    """Return what a function makes of the elements so far, of one tensor or of several at once."""
    several = values if isinstance(values, tuple) else (values,)
    order = builtins.range(several[0].array.shape[axis])[:: -1 if reverse else 1]
    rows = [tuple(x.moved(lambda a, n=n: a.take(n, axis)) for x in several) for n in order]
    for n, row in enumerate(rows[1:], 1):
        made = combine(*rows[n - 1], *row)
        rows[n] = made if isinstance(made, tuple) else (made,)
    results = [_stacked(column[:: -1 if reverse else 1], axis) for column in zip(*rows, strict=True)]
    return tuple(results) if isinstance(values, tuple) else results[0]


def _stacked(values, axis):
    return Tensor(np.stack([each.array for each in values], axis), values[0].type)


def reduce(values, axis, combine):
    found = associative_scan(values, axis, combine)
    last = lambda x: x.moved(lambda a: a.take(-1, axis))  # noqa: E731
    return tuple(map(last, found)) if isinstance(found, tuple) else last(found)


def accumulation(function):
    def accumulate(x, axis, reverse=False):
        turned = (lambda a: np.flip(a, axis)) if reverse else (lambda a: a)
        return computed(x.type, lambda a: turned(function.accumulate(turned(a), axis, a.dtype)), x)

    return accumulate


def dot(a, b, first=None, input_precision=None, out_dtype=None):
    wide = np.int32 if out_dtype == "int32" else np.float64

    def multiply(x, y, *z):
        return x.astype(wide) @ y.astype(wide) + (z[0] if z else 0)

    def error(result, arrays, errors):
        (x, y, *z), (d, e, *f) = arrays, errors
        size = abs(x) @ abs(y) + (abs(z[0]) if z else 0)
        return abs(x) @ e + d @ abs(y) + d @ e + (f[0] if f else 0) + 40 * rounding(size, out_dtype)

    of = (a, b) if first is None else (a, b, first)
    return computed(out_dtype, multiply, *of, error=error, is_exact=out_dtype == "int32")


# other places


def paired(stack):
    """Return a function that puts the elements of two tensors into one."""

    def pair(a, b):
        errors = [np.zeros(x.array.shape) if x.error is None else x.error for x in (a, b)]
        error = None if a.error is None and b.error is None else stack(*errors)
        return Tensor(stack(a.array, b.array), a.type, error)

    return pair


def split(x):
    return x[..., 0], x[..., 1]


def gather(x, places, axis):
    return x.moved(lambda a: np.take_along_axis(a, places.array, axis))


MEMORY = {"load": load, "store": store}
ATOMICS = {"add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and}
ATOMICS |= {"or": np.bitwise_or, "xor": np.bitwise_xor}
MEMORY |= {f"atomic_{name}": atomic(function) for name, function in ATOMICS.items()}
MADE = {
    "arange": lambda start, end: Tensor(np.arange(start, end, dtype=np.int32), "int32"),
    "zeros": lambda shape, type: Tensor(np.zeros(shape, storage(type)), type),
    "range": range,
    "static_range": range,
}
OF_EACH = {
    "where": where,
    "fma": fma,
    "maximum": binary(np.fmax),
    "minimum": binary(np.fmin),
    "div_rn": binary(np.divide),
    "abs": unary(np.abs),
    "floor": unary(np.floor),
    "ceil": unary(np.ceil),
    "exp": unary(np.exp, lambda r, e: r * e * 1.1),
    "exp2": unary(np.exp2, lambda r, e: r * e),
    "log": unary(np.log, lambda r, e: e + SLACK),
    "sqrt": unary(np.sqrt, lambda r, e: e + abs(r) * SLACK),
    "sin": unary(np.sin, lambda r, e: e + SLACK),
    "cos": unary(np.cos, lambda r, e: e + SLACK),
    "sigmoid": unary(lambda x: 1 / (1 + np.exp(-x.astype(np.float64))), lambda r, e: e + SLACK),
}
OF_AXES = {
    "sum": total,
    "max": reduction(np.fmax),
    "min": reduction(np.fmin),
    "xor_sum": reduction(np.bitwise_xor),
    "argmax": place(np.argmax),
    "argmin": place(np.argmin),
    "cumsum": accumulation(np.add),
    "cumprod": accumulation(np.multiply),
    "reduce": reduce,
    "associative_scan": associative_scan,
    "dot": dot,
}
MOVES = {
    "trans": lambda x: x.moved(np.transpose),
    "permute": lambda x, *order: x.moved(lambda a: a.transpose(*order)),
    "reshape": lambda x, shape: x.moved(lambda a: a.reshape(shape)),
    "broadcast_to": lambda x, shape: x.moved(lambda a: np.broadcast_to(a, shape)),
    "flip": lambda x, axis: x.moved(lambda a: np.flip(a, axis)),
    "join": paired(lambda a, b: np.stack([a, b], -1)),
    "interleave": paired(lambda a, b: np.stack([a, b], -1).reshape(*a.shape[:-1], -1)),
    "split": split,
    "gather": gather,
}
TYPES = {name: name for name in (*INTEGERS, *FLOATS, *EIGHT_BITS, "int1")}
NAMES = MEMORY | MADE | OF_EACH | OF_AXES | MOVES | TYPES

"""Values of Triton's language in numpy: scalars, tensors and pointers."""

import contextlib
import math
import operator

import numpy as np

from tests.kernels.triton.fuzzing.numbers import (
    DIGITS,
    INTEGERS,
    NARROW,
    promoted,
    rounded,
    rounding,
    storage,
)


class Rejected(Exception):
    """A program that leaves its memory, or takes too long."""


class Budget:
    """Counts the operations of a program."""

    left = math.inf

    @classmethod
    def spend(cls):
        cls.left -= 1
        if cls.left < 0:
            raise Rejected

    @classmethod
    @contextlib.contextmanager
    def limited(cls, most):
        """Reject what takes more operations in the block; a `while` may go on for ever."""
        cls.left = most
        try:
            yield
        finally:
            cls.left = math.inf


class Tensor:
    """A scalar or a tensor, which nothing changes in place.

    Attributes:
        array: The numbers; narrow floating-point numbers lie in float32.
        type: Triton's name of their type.
        error: How far each may lie from the exact number, or None if they are known to the last bit.
    """

    def __init__(self, array, type, error=None):
        Budget.spend()
        self.array, self.type, self.error = np.asarray(array), type, error

    def moved(self, function):
        """Return the elements at other places, with their errors."""
        error = None if self.error is None else function(self.error)
        return Tensor(function(self.array), self.type, error)

    def to(self, type, bitcast=False):
        if bitcast:
            numbers = np.ascontiguousarray(self.array).view(storage(type)).reshape(self.array.shape)
            return Tensor(numbers, type)
        if type == self.type:
            return self
        by_single = type in NARROW and self.type in INTEGERS
        return computed(type, lambda x: x.astype(np.float32) if by_single else x, self)

    def __getitem__(self, index):
        return self.moved(lambda x: x[index])

    def __bool__(self):
        Budget.spend()
        return bool(self.array)

    def __index__(self):
        return int(self.array)

    def __neg__(self):
        return computed(self.type, np.negative, self)

    def __invert__(self):
        return computed(self.type, np.invert, self)


CHOICES = (np.where, np.fmax, np.fmin, np.abs, np.negative)  # which round nothing


def computed(type, function, *of, error=None, is_exact=True):
    """Return a function's numbers, rounded to a type.

    Args:
        type: The type.
        function: Computes the numbers from those of the operands.
        of: The operands.
        error: Computes the error, given the result, the operands' numbers, and their errors.
        is_exact: Whether there is no error if the operands have none.
    """
    arrays, errors = [each.array for each in of], [each.error for each in of]
    with np.errstate(all="ignore"):
        result = rounded(function(*arrays), type)
        if is_exact and all(each is None for each in errors):
            return Tensor(result, type)
        errors = [np.zeros(a.shape) if e is None else e for a, e in zip(arrays, errors, strict=True)]
        spread = (error or total)(result, [array.astype(np.float64) for array in arrays], errors)
    own = rounding(result, type) if type in DIGITS and function not in CHOICES else 0
    return Tensor(result, type, np.broadcast_to(spread + own, result.shape))


def total(result, arrays, errors):
    """Return the error of a sum, or of what is one of its operands."""
    return sum(errors[1:], errors[0])


def of_product(result, arrays, errors):
    (a, b), (c, d) = arrays, errors
    return abs(a) * d + abs(b) * c + c * d


def alike(first, second):
    """Return two operands in the type of their arithmetic; a literal takes the other's."""
    if not isinstance(first, Tensor):
        first = Tensor(np.asarray(first, storage(second.type)), second.type)
    if not isinstance(second, Tensor):
        second = Tensor(np.asarray(second, storage(first.type)), first.type)
    type = promoted(first.type, second.type)
    return tuple(each if each.type == type else each.to(type) for each in (first, second))


def quotient(a, b):
    """Return quotients rounded towards zero, as in C."""
    whole = a // b
    return (whole + ((a % b != 0) & ((a < 0) != (b < 0))).astype(a.dtype)).astype(a.dtype)


OPERATIONS = {
    "add": (np.add, total),
    "sub": (np.subtract, total),
    "mul": (np.multiply, of_product),
    "truediv": (np.divide, None),
    "floordiv": (quotient, None),
    "mod": (np.fmod, None),
    "and": (np.bitwise_and, None),
    "or": (np.bitwise_or, None),
    "xor": (np.bitwise_xor, None),
    "lshift": (np.left_shift, None),
    "rshift": (np.right_shift, None),
}
COMPARISONS = {name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")}


def _arithmetic(name, first, second):
    function, error = OPERATIONS[name]
    a, b = alike(first, second)
    type = "float32" if name == "mod" and a.type in NARROW else a.type
    return computed(type, function, a, b, error=error)


def _method(name):
    if name in COMPARISONS:
        return lambda self, other: computed("int1", COMPARISONS[name], *alike(self, other))
    return lambda self, other: _arithmetic(name, self, other)


def _reflected(name):
    return lambda self, other: _arithmetic(name, other, self)


for _name in (*OPERATIONS, *COMPARISONS):
    setattr(Tensor, f"__{_name}__", _method(_name))
for _name in OPERATIONS:
    setattr(Tensor, f"__r{_name}__", _reflected(_name))


class Memory:
    """Numbers of a type, with the errors of what was stored."""

    def __init__(self, array, type):
        self.array, self.type, self.error = array, type, np.zeros(array.shape)


class Pointer:
    """Pointers to elements of a memory, of four bytes each.

    Args:
        memory: The numbers, which are stored into.
        places: Their places in it.
    """

    def __init__(self, memory, places=0):
        self.memory, self.places = memory, np.asarray(places)

    def __add__(self, offset):
        return Pointer(self.memory, self.places + getattr(offset, "array", offset))

    def __sub__(self, offset):
        return Pointer(self.memory, self.places - getattr(offset, "array", offset))

    def __getitem__(self, index):
        return Pointer(self.memory, self.places[index])

    def to(self, type):
        return Tensor((self.places * 4).astype(storage(type)), type)

    def chosen(self, mask):
        """Return the places where a mask is true, and the mask.

        Raises:
            Rejected: If one lies outside of the memory.
        """
        shape = self.places.shape
        mask = np.ones(shape, bool) if mask is None else np.broadcast_to(mask.array, shape)
        places = self.places[mask]
        if ((places < 0) | (places >= len(self.memory.array))).any():
            raise Rejected
        return places, mask

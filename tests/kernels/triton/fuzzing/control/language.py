"""Triton's language in numpy, as far as the cases speak it, which run in Python and in Triton."""

import builtins
import operator

import numpy as np

MOST_OPERATIONS = 30_000  # of a case; a `while` may go on for ever

int32, int64, float32 = np.dtype("int32"), np.dtype("int64"), np.dtype("float32")


class Rejected(Exception):
    """A case that leaves its memory, or takes too long."""


class Budget:
    """Counts the operations of a case."""

    left = MOST_OPERATIONS

    @classmethod
    def spend(cls):
        cls.left -= 1
        if cls.left < 0:
            raise Rejected


class Tensor:
    """A scalar or a tensor, which nothing changes in place."""

    def __init__(self, array):
        Budget.spend()
        self.array = np.asarray(array)

    def _with(self, other, function):
        if isinstance(other, Pointer):
            return NotImplemented
        array = other.array if isinstance(other, Tensor) else np.asarray(other, self.array.dtype)
        with np.errstate(all="ignore"):
            return Tensor(function(self.array, array))

    def __bool__(self):
        Budget.spend()
        return bool(self.array)

    def __index__(self):
        return int(self.array)

    def __getitem__(self, index):
        return Tensor(self.array[index])

    def to(self, type):
        return Tensor(self.array.astype(type))

    def __floordiv__(self, other):
        """Return the quotient rounded towards zero, as in C."""
        return self._with(other, lambda a, b: np.sign(a) * (abs(a.astype(np.int64)) // b).astype(a.dtype))

    def __mod__(self, other):
        return self._with(other, np.fmod)


OPERATIONS = (
    "add",
    "sub",
    "mul",
    "and_",
    "or_",
    "xor",
    "lshift",
    "rshift",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
)


def _method(name):
    return lambda self, other: self._with(other, getattr(operator, name))


for _name in OPERATIONS:
    setattr(Tensor, f"__{_name.strip('_')}__", _method(_name))


class Pointer:
    """Pointers to elements of a memory, of four bytes each."""

    def __init__(self, memory, places):
        self.memory, self.places = memory, np.asarray(places)

    def __add__(self, offset):
        return Pointer(self.memory, self.places + getattr(offset, "array", offset))

    def __sub__(self, offset):
        return Pointer(self.memory, self.places - getattr(offset, "array", offset))

    def __getitem__(self, index):
        return Pointer(self.memory, self.places[index])

    def to(self, type):
        return Tensor((self.places * 4).astype(type))

    def chosen(self, mask):
        """Return the places where a mask is true, and the mask.

        Raises:
            Rejected: If one lies outside of the memory.
        """
        shape = self.places.shape
        mask = np.ones(shape, bool) if mask is None else np.broadcast_to(mask.array, shape)
        places = self.places[mask]
        if ((places < 0) | (places >= len(self.memory))).any():
            raise Rejected
        return places, mask


def load(pointer, mask=None, other=0):
    places, mask = pointer.chosen(mask)
    found = np.full(mask.shape, getattr(other, "array", other), pointer.memory.dtype)
    found[mask] = pointer.memory[places]
    return Tensor(found)


def store(pointer, value, mask=None):
    places, mask = pointer.chosen(mask)
    pointer.memory[places] = np.broadcast_to(value.array, mask.shape)[mask]


def where(condition, first, second):
    return Tensor(np.where(condition.array, first.array, second.array))


def arange(start, end):
    return Tensor(np.arange(start, end, dtype=int32))


def sum(value, axis):
    return Tensor(np.sum(value.array, axis, dtype=value.array.dtype))


def max(value, axis):
    return Tensor(np.max(value.array, axis))


def cumsum(value, axis):
    return Tensor(np.cumsum(value.array, axis, dtype=value.array.dtype))


def minimum(first, second):
    return Tensor(np.minimum(first.array, second.array))


def reshape(value, shape):
    return Tensor(value.array.reshape(shape))


def trans(value):
    return Tensor(value.array.T)


def range(*bounds):
    for each in builtins.range(*(operator.index(bound) for bound in bounds)):
        yield Tensor(np.int32(each))


static_range = range

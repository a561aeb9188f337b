"""A random kernel that is being written; its text computes what it stores, in Triton and in numpy."""

import contextlib
import dataclasses
import random

import numpy as np

from tests.kernels.triton.fuzzing import language
from tests.kernels.triton.fuzzing.numbers import INTEGERS, NUMBERS, rounded, to_tensor
from tests.kernels.triton.fuzzing.values import Memory, Pointer

ROWS, COLUMNS = 16, 32
SHAPES = ((COLUMNS,), (ROWS, COLUMNS), (COLUMNS, ROWS), (ROWS, ROWS))
SENTINEL = 77
# functions of two elements, or of two pairs, that may be grouped in any way
COMBINERS = """
@triton.jit
def added(a, b):
    return a + b

@triton.jit
def exclusive(a, b):
    return a ^ b

@triton.jit
def larger(a, b):
    return tl.where(a > b, a, b)

@triton.jit
def composed(a, b, c, d):
    return a * c, b * c + d

@triton.jit
def last_of_larger(a, i, b, j):
    wins = (b > a) | ((b == a) & (j > i))
    return tl.where(wins, b, a), tl.where(wins, j, i)
"""
BEGIN = f"""    pid = tl.program_id(0)
    rows, columns = tl.arange(0, {ROWS}), tl.arange(0, {COLUMNS})"""


@dataclasses.dataclass(frozen=True)
class Value:
    """A value of a kernel: its name, type and shape, and whether its numbers are known to the last bit."""

    name: str
    type: str
    shape: tuple[int, ...]
    is_exact: bool = True


class Program:
    """A kernel of one argument for each of its buffers, and the count of elements that masks let through.

    Attributes:
        random: What everything is drawn from.
        values: What the next operation may use.
        inputs: The type and the numbers of each buffer that is read.
        outputs: The type and the length of each buffer that is written.
        instances: How many instances are launched.
        count: The argument ``count``.
    """

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.numpy = np.random.default_rng(seed)
        self.name = f"kernel_{seed}"
        self.inputs, self.outputs = {}, {}
        self.instances = self.random.choice((1, 3))
        self.count = self.random.randrange(2, COLUMNS)  # 1 would be a constant
        self._lines, self.depth, self._names = [], 1, 0
        self._used = set()
        self._known = {**language.namespace(), "count": language.integer(self.count)}
        exec(COMBINERS, self._known)
        for line in BEGIN.splitlines():
            exec(line.strip(), self._known)
        self.values = [self.value("pid"), self.value("count")]

    def new_name(self, letter="v"):
        self._names += 1
        return f"{letter}{self._names}"

    def value(self, name):
        tensor = self._known[name]
        return Value(name, tensor.type, tensor.array.shape, tensor.error is None)

    def write(self, line):
        """Write a statement, and run it, so that the types of its results are known."""
        self.add(line)
        exec(line, self._known)

    def add(self, line):
        """Write a line."""
        self._lines.append("    " * self.depth + line)

    def define(self, text, *of, keep=True):
        """Write an assignment of a new value.

        Args:
            text: The expression, with braces for the operands.
            of: The operands.
            keep: Whether other operations may use the value.
        """
        name = self.new_name()
        self.write(f"{name} = {text.format(*(each.name for each in of))}")
        self._used |= {each.name for each in of}
        if keep:
            self.values.append(self.value(name))
        return self.value(name)

    def pick(self, types=NUMBERS, shape=None, rank=None, is_exact=False):
        """Return a value, one of the latest rather than an early one, or None if there is none."""
        found = [
            each
            for each in self.values
            if each.type in types
            and (shape is None or each.shape == shape)
            and (rank is None or len(each.shape) == rank)
            and (each.is_exact or not is_exact)
        ]
        if not found:
            return None
        return found[max(self.random.randrange(len(found)) for _ in range(2))]

    def unused(self):
        """Return the values that no other is computed from."""
        return [each for each in self.values if each.name not in self._used]

    def alike(self, value):
        """Return a value of the same type and shape."""
        return self.pick((value.type,), value.shape)

    @contextlib.contextmanager
    def nested(self, heading):
        """Write what is written inside into an indented block, of which nothing is known below it."""
        self.add(heading)
        values, known = self.values, self._known
        self.values, self._known, self.depth = list(values), dict(known), self.depth + 1
        yield
        self.values, self._known, self.depth = values, known, self.depth - 1

    def know(self, name, like):
        """Let a name that a nested block assigns be known, as one of the type of another."""
        self._known[name] = self._known[like]
        self.values.append(self.value(name))

    def add_input(self, type, count):
        name = self.new_name("x")
        self.inputs[name] = type, self.drawn(type, count)
        self._known[name] = Pointer(Memory(self.inputs[name][1], type))
        return name

    def drawn(self, type, count):
        """Return random numbers of a type, small ones or all there are."""
        if type == "int1":
            return self.numpy.integers(0, 2, count).astype(bool)
        if type in INTEGERS:
            limits = np.iinfo(type)
            if self.random.random() < 0.5:
                limits = np.iinfo("int8" if limits.min else "uint8")
            return self.numpy.integers(limits.min, limits.max, count, dtype=type, endpoint=True)
        if self.random.random() < 0.5:
            return rounded(self.numpy.integers(-64, 64, count) / 8, type)
        return rounded(self.numpy.standard_normal(count) * 3, type)

    def add_output(self, type, count):
        name = self.new_name("out")
        self.outputs[name] = type, count * self.instances
        self._known[name] = Pointer(self._output(name))
        return name

    def _output(self, name):
        type, count = self.outputs[name]
        return Memory(rounded(np.full(count, SENTINEL), type), type)

    @property
    def source(self):
        """The text of the kernel."""
        arguments = ", ".join([*self.inputs, *self.outputs, "count"])
        return "\n".join([f"@triton.jit\ndef {self.name}({arguments}):", BEGIN, *self._lines, ""])

    def tensors(self):
        """Return new tensors for the buffers."""
        read = [to_tensor(array, type) for type, array in self.inputs.values()]
        return read, [to_tensor(np.full(n, SENTINEL), type) for type, n in self.outputs.values()]

    def expected(self):
        """Return the numbers that the kernel leaves in each output."""
        inputs = [Memory(array, type) for type, array in self.inputs.values()]
        outputs = {name: self._output(name) for name in self.outputs}
        for instance in range(self.instances):
            known = language.namespace(instance)
            exec(COMBINERS + self.source, known)
            known[self.name](*map(Pointer, (*inputs, *outputs.values())), language.integer(self.count))
        return outputs


def store(program, value):
    """Write the store of a value into an output of its own, as a whole."""
    size = int(np.prod(value.shape))
    name = program.add_output(value.type, size)
    places = f"pid * {size} + tl.arange(0, {size})" if value.shape else "pid"
    flat = f"tl.reshape({value.name}, [{size}])" if len(value.shape) > 1 else value.name
    program.write(f"tl.store({name} + {places}, {flat})")


def load(program, type, shape):
    """Write the load of a whole input, the same for each instance."""
    size = int(np.prod(shape))
    name = program.add_input(type, size)
    places = f"tl.arange(0, {size})"
    if len(shape) == 2:
        rows, columns = (f"tl.arange(0, {n})" for n in shape)
        places = f"{rows}[:, None] * {shape[1]} + {columns}[None, :]"
    program.define(f"tl.load({name} + {places})" + (".to(tl.int1)" if type == "int1" else ""))

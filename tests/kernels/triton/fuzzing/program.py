"""A random kernel that is being written, beside the steps that compute what it stores."""

import contextlib
import random

import numpy as np

from tests.kernels.triton.fuzzing.numbers import (
    INTEGERS,
    NUMBERS,
    Numbers,
    Value,
    combined,
    rounded,
    to_tensor,
)

ROWS, COLUMNS = 16, 32
SHAPES = ((COLUMNS,), (ROWS, COLUMNS), (COLUMNS, ROWS), (ROWS, ROWS))
SENTINEL = 77


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
        self.values = []
        self.inputs, self.outputs = {}, {}
        self.instances = self.random.choice((1, 3))
        self.count = self.random.randrange(2, COLUMNS)  # 1 would be a constant
        self._lines, self._steps, self.depth, self._names = [], [], 1, 0
        self._used = set()
        self.values.append(Value("pid", "int32", ()))
        self.values.append(Value("count", "int32", ()))

    def new_name(self, letter="v"):
        self._names += 1
        return f"{letter}{self._names}"

    def write(self, line, step=None):
        self._lines.append("    " * self.depth + line)
        if step is not None:
            self._steps.append(step)

    def define(
        self, text, function, *of, type=None, shape=None, error=None, is_exact=True, moves=False, keep=True
    ):
        """Write an assignment of a new value, by default of the first operand's type and shape.

        Args:
            text: The expression, with braces for the operands.
            function: Computes the numbers from those of the operands.
            of: The operands.
            type: The type.
            shape: The shape.
            error: Computes the error, given the result, the operands' numbers, and their errors.
            is_exact: Whether it has no error if the operands have none.
            moves: Whether the function only puts elements at other places.
            keep: Whether other operations may use the value.
        """
        name, type = self.new_name(), type or of[0].type
        shape = tuple(of[0].shape if shape is None else shape)
        compute = combined(type, function, error, is_exact, moves)
        self.write(f"{name} = {text.format(*(each.name for each in of))}")

        def step(environment):
            numbers = compute(*(environment[each.name] for each in of))
            assert numbers.array.shape == shape, (text, numbers.array.shape, shape)
            environment[name] = numbers

        self._steps.append(step)
        self._used |= {each.name for each in of}
        value = Value(name, type, shape, is_exact and all(each.is_exact for each in of))
        if keep:
            self.values.append(value)
        return value

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
        """Write what is written inside into an indented block; yield its steps, for the caller to run."""
        self.write(heading)
        values, steps = self.values, self._steps
        self.values, self._steps, self.depth = list(values), [], self.depth + 1
        yield self._steps
        self.values, self._steps, self.depth = values, steps, self.depth - 1

    def add_step(self, step):
        self._steps.append(step)

    def add_input(self, type, count, array=None):
        name = self.new_name("x")
        self.inputs[name] = type, self.drawn(type, count) if array is None else array
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
        return name

    @property
    def source(self):
        """The text of the kernel."""
        arguments = ", ".join([*self.inputs, *self.outputs, "count"])
        lines = [f"@triton.jit\ndef {self.name}({arguments}):", "    pid = tl.program_id(0)"]
        lines += [f"    rows, columns = tl.arange(0, {ROWS}), tl.arange(0, {COLUMNS})"]
        return "\n".join([*lines, *self._lines, ""])

    def tensors(self):
        """Return new tensors for the buffers."""
        read = [to_tensor(array, type) for type, array in self.inputs.values()]
        return read, [to_tensor(np.full(n, SENTINEL), type) for type, n in self.outputs.values()]

    def expected(self):
        """Return the numbers that the kernel leaves in each output."""
        memory = {
            name: Numbers(rounded(np.full(n, SENTINEL), type), np.zeros(n))
            for name, (type, n) in self.outputs.items()
        }
        inputs = {name: Numbers(array) for name, (_, array) in self.inputs.items()}
        for pid in range(self.instances):
            environment = {**inputs, "memory": memory}
            environment["pid"] = Numbers(np.array(pid, np.int32))
            environment["count"] = Numbers(np.array(self.count, np.int32))
            with contextlib.suppress(Return):
                run(self._steps, environment)
        return memory


class Return(Exception):
    """An instance that ends early."""


def run(steps, environment):
    for step in steps:
        step(environment)


def store_all(program, values):
    """Write the stores of values into outputs of their own, as a whole."""
    for value in values:
        store(program, value)


def store(program, value):
    size = int(np.prod(value.shape))
    name = program.add_output(value.type, size)
    places = "pid"
    if len(value.shape) > 0:
        flat = f"tl.reshape({value.name}, [{size}])" if len(value.shape) > 1 else value.name
        places = f"pid * {size} + tl.arange(0, {size})"
    else:
        flat = value.name
    program.write(f"tl.store({name} + {places}, {flat})")

    def step(environment):
        numbers, target = environment[value.name], environment["memory"][name]
        begin = int(environment["pid"].array) * size
        target.array[begin : begin + size] = numbers.array.reshape(-1)
        target.error[begin : begin + size] = 0 if numbers.error is None else numbers.error.reshape(-1)

    program.add_step(step)


def load(program, type, shape):
    """Write the load of a whole input, the same for each instance."""
    size = int(np.prod(shape))
    name = program.add_input(type, size)
    if len(shape) == 2:
        rows, columns = (f"tl.arange(0, {n})" for n in shape)
        text = f"tl.load({name} + {rows}[:, None] * {shape[1]} + {columns}[None, :])"
    else:
        text = f"tl.load({name} + tl.arange(0, {size}))"
    if type == "int1":
        text += ".to(tl.int1)"
    operand = Value(name, type, (size,))
    return program.define(text.replace(name, "{}"), lambda a: a.reshape(shape), operand, shape=shape)

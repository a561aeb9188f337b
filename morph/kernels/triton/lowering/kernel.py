"""A kernel that is being lowered: its values so far, and how an operation is told from the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from morph.kernels.triton.errors import UnsupportedOperationError
from morph.kernels.triton.ir.operations import Block, Function, Operation
from morph.kernels.triton.ir.types import Type
from morph.kernels.triton.lowering.uses import Uses
from morph.kernels.triton.lowering.values import Index, Stored, Value, stored
from morph.kernels.triton.lowering.writer import Writer

CHEAP = 8  # additions that are rather repeated than stored

Lowering = Callable[["Kernel", Operation], None]
LOWERINGS: dict[str, Lowering] = {}


def lowers(*names: str) -> Callable[[Lowering], Lowering]:
    """Register a function that lowers the operations of these names."""

    def register(function: Lowering) -> Lowering:
        LOWERINGS.update(dict.fromkeys(names, function))
        return function

    return register


class Kernel:
    """The lowering of a kernel.

    Attributes:
        writer: Writes its C++.
        functions: The functions of its module by name.
        uses: How its values are used.
        headers: What its C++ includes.
        is_checked: Whether its accesses to memory are checked.
    """

    def __init__(self, functions: Sequence[Function], is_checked: bool = False) -> None:
        self.writer = Writer()
        self.functions = {function.name: function for function in functions}
        self.uses = Uses(functions)
        self.headers = ["kernel.h", "checks.h"] if is_checked else ["kernel.h"]
        self.is_checked = is_checked
        self._values: dict[str, Value] = {}

    def lower(self, operations: Sequence[Operation]) -> None:
        """Write operations that run one after another.

        Raises:
            UnsupportedOperationError: If one is not lowered.
        """
        for operation in operations:
            if operation.name not in LOWERINGS:
                raise UnsupportedOperationError(operation.name, "it is not lowered")
            LOWERINGS[operation.name](self, operation)

    def value(self, name: str) -> Value:
        """Return the value of a name."""
        return self._values[name]

    def operands(self, operation: Operation) -> list[Value]:
        """Return the values of an operation's operands."""
        return [self._values[name] for name in operation.operands]

    def scalar(self, name: str) -> str:
        """Return the C++ expression of a scalar."""
        return self.writer.at(self._values[name])

    def set(self, name: str, value: Value) -> None:
        """Bind a name to a value that is cheap to use anywhere."""
        self._values[name] = value

    def bind(self, name: str, value: Value) -> None:
        """Bind a name to a value: a scalar now, a tensor where it is used unless that repeats much work."""
        if value.type.shape is None:
            self._values[name] = self.writer.constant(value.type, value.element(()))
        elif value.cost > CHEAP and not value.is_uniform and self.uses.is_repeated(name):
            self._values[name] = self.stored(value)
        else:
            self._values[name] = value

    def scoped(self) -> Scoped:
        """Return a context that forgets the names which are bound in it."""
        return Scoped(self)

    def replace_values(self, values: dict[str, Value]) -> dict[str, Value]:
        """Bind all names anew, and return what they were bound to."""
        previous, self._values = self._values, values
        return previous

    def stored(self, value: Value) -> Stored:
        """Return a value that lies in memory: ``value``, or its elements computed now."""
        if isinstance(value, Stored):
            return value
        if value.type.shape is None:
            return stored(value.type, self.writer.at(value))
        return self.copied(value)

    def copied(self, value: Value) -> Stored:
        """Return a new variable that holds a value."""
        if value.type.shape is None:
            return self.writer.variable(value.type, self.writer.at(value))
        variable = self.writer.variable(value.type)
        self.fill(variable, value)
        return variable

    def fill(self, variable: Stored, value: Value) -> None:
        """Assign a value to a variable."""
        with self.writer.loops(value.type.shape or ()) as index:
            self.writer.write(f"{variable.element(index)} = {self.writer.at(value, index)};")

    def cheap(self, value: Value) -> Value:
        """Return a value that may be used at more indices than it has elements."""
        return self.stored(value) if value.cost > CHEAP and not value.is_uniform else value

    def elementwise(
        self,
        operation: Operation,
        type: Type,
        compute: Callable[..., str],
        cost: int = 1,
        operands: int | None = None,
    ) -> None:
        """Bind the result of an operation that computes each element on its own.

        Args:
            operation: The operation, whose result is bound.
            type: The type of the result.
            compute: Returns the C++ expression of an element, given those of the operands.
            cost: What it takes, in additions.
            operands: How many operands count; all unless given.
        """
        values = self.operands(operation)[:operands]

        def element(index: Index) -> str:
            return compute(*(self.writer.at(value, index) for value in values))

        total = cost + sum(value.cost for value in values)
        self.bind(
            operation.results[0], Value(type, element, total, all(value.is_uniform for value in values))
        )


class Scoped:
    """A context in which names are bound that are unknown after it."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def __enter__(self) -> None:
        self._saved = self._kernel.replace_values({})
        self._kernel.replace_values(dict(self._saved))

    def __exit__(self, *error: object) -> None:
        self._kernel.replace_values(self._saved)


def only_block(region: Sequence[Block]) -> Block:
    """Return the block of a region that must have one.

    Raises:
        UnsupportedOperationError: If it has more.
    """
    if len(region) != 1:
        raise UnsupportedOperationError("cf.br", "blocks within a loop or a branch are not lowered")
    return region[0]

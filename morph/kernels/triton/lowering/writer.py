"""The C++ text of a kernel: nested scopes, and expressions that are computed once in the outermost scope."""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from morph.kernels.triton.ir.types import Type
from morph.kernels.triton.lowering.values import Index, Stored, Value, stored, unflattened

MOST_NESTED = 3  # loops: compilers take long for more
IDENTIFIER = re.compile(r"\b[a-z]\d+\b")


@dataclass(slots=True)
class Scope:
    """The inside of braces.

    Attributes:
        is_loop_of_elements: Whether it runs for each element: what does not depend on its index may move out.
        lines: The lines so far.
        known: The names that hold elements: for a value, which is kept alive here, and an index.
    """

    is_loop_of_elements: bool
    lines: list[str] = field(default_factory=list)
    known: dict[tuple[int, Index], tuple[str, Value]] = field(default_factory=dict)


class Writer:
    """Writes statements into the innermost scope, and what they need into the scopes around it."""

    def __init__(self) -> None:
        self._scopes = [Scope(False)]
        self._numbers = itertools.count()
        self._levels: dict[str, int] = {}
        self.frame = 0

    @property
    def lines(self) -> list[str]:
        """The lines of the outermost scope."""
        return self._scopes[0].lines

    def write(self, line: str) -> None:
        """Write a statement."""
        self._scopes[-1].lines.append(line)

    def name(self, letter: str) -> str:
        """Return a new name, known in the innermost scope."""
        name = f"{letter}{next(self._numbers)}"
        self._levels[name] = len(self._scopes) - 1
        return name

    @contextlib.contextmanager
    def scope(self, opening: str, is_loop_of_elements: bool = False) -> Iterator[None]:
        """Write what is written inside into braces.

        Args:
            opening: What stands before the brace.
            is_loop_of_elements: Whether it is a loop over elements, each of which is computed on its own.
        """
        self._scopes.append(Scope(is_loop_of_elements))
        yield
        inner = self._scopes.pop()
        self._scopes[-1].lines += [f"{opening} {{", *(f"  {line}" for line in inner.lines), "}"]

    @contextlib.contextmanager
    def loop(self, size: int, letter: str = "i") -> Iterator[str]:
        """Write a loop over ``size`` elements; yield the index, which is "0" for one element."""
        if size == 1:
            yield "0"
            return
        index = f"{letter}{next(self._numbers)}"
        self._levels[index] = len(self._scopes)
        with self.scope(f"for (int {index} = 0; {index} < {size}; ++{index})", True):
            yield index

    @contextlib.contextmanager
    def span(self, begin: str, end: str) -> Iterator[str]:
        """Write a loop over the elements from ``begin`` to before ``end``; yield the index."""
        index = f"i{next(self._numbers)}"
        self._levels[index] = len(self._scopes)
        with self.scope(f"for (int {index} = {begin}; {index} < {end}; ++{index})", True):
            yield index

    @contextlib.contextmanager
    def loops(self, shape: tuple[int, ...]) -> Iterator[Index]:
        """Write nested loops over the elements of a shape, or one loop for many axes; yield the index."""
        if sum(size > 1 for size in shape) > MOST_NESTED:
            with self.loop(math.prod(shape)) as place:
                yield unflattened(place, shape)
            return
        with contextlib.ExitStack() as stack:
            yield tuple(stack.enter_context(self.loop(size)) for size in shape)

    def at(self, value: Value, index: Index = ()) -> str:
        """Return a C++ expression of an element, computed at most once in the scopes that are open."""
        if isinstance(value, Stored):
            return value.element(index)
        key = id(value), index
        for scope in reversed(self._scopes):
            if key in scope.known:
                return scope.known[key][0]
        expression = value.element(index)
        name = self._keep(value.type, expression)
        self._scopes[self._level(name)].known[key] = name, value
        return name

    def constant(self, type: Type, expression: str) -> Value:
        """Compute a scalar now."""
        name = self.name("s")
        self.write(f"{type.c_type} const {name} = {expression};")
        return stored(type.shaped(None), name)

    def variable(self, type: Type, first: str = "") -> Stored:
        """Declare a variable: a scalar, or an array."""
        name = self.name("v" if type.shape is None else "t")
        if type.shape is None:
            self.write(f"{type.c_type} {name}{f' = {first}' if first else ''};")
        else:
            self.frame += type.size * 8 + 64
            self.write(f"alignas(64) {type.c_type} {name}[{type.size}];")
        return stored(type, name)

    def _keep(self, type: Type, expression: str) -> str:
        if not IDENTIFIER.search(expression) or IDENTIFIER.fullmatch(expression):
            return expression
        level = self._level(expression)
        name = f"x{next(self._numbers)}"
        self._levels[name] = level
        self._scopes[level].lines.append(f"{type.c_type} const {name} = {expression};")
        return name

    def _level(self, expression: str) -> int:
        """Return the outermost scope in which an expression can be computed."""
        level = max((self._levels.get(name, 0) for name in IDENTIFIER.findall(expression)), default=0)
        fixed = max((n for n, scope in enumerate(self._scopes) if not scope.is_loop_of_elements), default=0)
        return max(level, fixed)

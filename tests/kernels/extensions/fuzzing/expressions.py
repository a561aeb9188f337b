"""Random expressions: their text in CUDA C++, and the number that a thread gets."""

import operator
from collections.abc import Callable
from typing import NamedTuple

from tests.kernels.extensions.fuzzing.functions import FUNCTIONS
from tests.kernels.extensions.fuzzing.numbers import EXACT, TYPES, quotient, remainder, unsigned, wrapped
from tests.kernels.extensions.fuzzing.threads import Thread

INPUT = 64  # numbers that each kernel reads


class Expression(NamedTuple):
    """An expression without side effects.

    Attributes:
        text: It in CUDA C++.
        type: Its type.
        value: Returns the number of a thread.
    """

    text: str
    type: str
    value: Callable[[Thread], int]


BUILT_IN = {
    "threadIdx.x": lambda thread: thread.index % thread.sizes[0],
    "threadIdx.y": lambda thread: thread.index // thread.sizes[0],
    "blockIdx.x": lambda thread: thread.block,
    "blockDim.x": lambda thread: thread.sizes[0],
    "blockDim.y": lambda thread: thread.sizes[1],
    "gridDim.x": lambda thread: thread.sizes[2],
    "unsigned(warpSize)": lambda thread: 32,
    "thread": lambda thread: thread.index,
}


class Expressions:
    """Draws expressions of variables.

    Attributes:
        random: What everything is drawn from.
        variables: The type of each variable that may be read.
    """

    def __init__(self, random):
        self.random = random
        self.variables = {}

    def any(self, type=None, depth=3):
        """Return an expression of a type."""
        type = type or self.random.choice(list(TYPES))
        if type == "float":
            return self._float(depth)
        if depth <= 0:
            return self._leaf(type)
        kinds = (self._leaf, self._arithmetic, self._arithmetic, self._division, self._shift)
        kinds += (self._comparison, self._choice, self._call, self._call, self._unary, self._read)
        made = self.random.choice(kinds)
        return made(type) if made == self._leaf else made(type, depth - 1)

    def condition(self, depth=2):
        """Return an expression that is 0 or 1."""
        a = self._comparison("int", depth)
        return Expression(a.text, "int", a.value)

    def _leaf(self, type):
        kind = self.random.random()
        if kind < 0.6 and self.variables:
            name = self.random.choice(list(self.variables))
            return cast(Expression(name, self.variables[name], lambda thread: thread.variables[name]), type)
        if kind < 0.8:
            name = self.random.choice(list(BUILT_IN))
            return cast(Expression(name, "unsigned", BUILT_IN[name]), type)
        number = wrapped(
            self.random.choice((0, 1, 2, 5, 31, 255, 4097, 0x7FFFFFFF, self.random.getrandbits(31))), type
        )
        return Expression(f"({type})({number})", type, lambda thread: number)

    def _arithmetic(self, type, depth):
        symbol, of = self.random.choice(
            [("+", operator.add), ("-", operator.sub), ("*", operator.mul)]
            + [("&", operator.and_), ("|", operator.or_), ("^", operator.xor)]
        )
        a, b = self.any(type, depth), self.any(type, depth)
        wide = unsigned(type)
        text = f"({type})(({wide}){a.text} {symbol} ({wide}){b.text})"
        return Expression(text, type, lambda thread: wrapped(of(a.value(thread), b.value(thread)), type))

    def _division(self, type, depth):
        symbol, of = self.random.choice([("/", quotient), ("%", remainder)])
        a, b = self.any(type, depth), self.any(type, depth)
        text = f"({type})({a.text} {symbol} (({b.text} & 15) + 1))"
        return Expression(
            text, type, lambda thread: wrapped(of(a.value(thread), (b.value(thread) & 15) + 1), type)
        )

    def _shift(self, type, depth):
        width = max(TYPES[type][0], 32)
        a, by = self.any(type, depth), self.any("unsigned", depth)
        if self.random.random() < 0.5:
            text = f"({type})(({unsigned(type)}){a.text} << ({by.text} & {width - 1}u))"
            of = operator.lshift
        else:
            text, of = f"({type})({a.text} >> ({by.text} & {width - 1}u))", operator.rshift
        return Expression(
            text, type, lambda thread: wrapped(of(a.value(thread), by.value(thread) & width - 1), type)
        )

    def _comparison(self, type, depth):
        symbol, of = self.random.choice(
            [("<", operator.lt), ("<=", operator.le), ("==", operator.eq), ("!=", operator.ne)]
            + [(">", operator.gt), ("&&", lambda a, b: a and b), ("||", lambda a, b: a or b)]
        )
        of_type = self.random.choice((*TYPES, "float"))
        a, b = self.any(of_type, depth), self.any(of_type, depth)
        text = f"({type})({a.text} {symbol} {b.text})"
        return Expression(text, type, lambda thread: int(bool(of(a.value(thread), b.value(thread)))))

    def _choice(self, type, depth):
        chosen, a, b = self.condition(depth), self.any(type, depth), self.any(type, depth)
        text = f"({chosen.text} ? {a.text} : {b.text})"
        return Expression(
            text, type, lambda thread: a.value(thread) if chosen.value(thread) else b.value(thread)
        )

    def _call(self, type, depth):
        name = self.random.choice(list(FUNCTIONS))
        returned, types, of = FUNCTIONS[name]
        given = [self.any(each, depth) for each in types]
        text = f"{name}({', '.join(each.text for each in given)})"
        called = lambda thread: wrapped(of(*(each.value(thread) for each in given)), returned)  # noqa: E731
        return cast(Expression(text, returned, called), type)

    def _unary(self, type, depth):
        a = self.any(type, depth)
        symbol, of = self.random.choice([("-", operator.neg), ("~", operator.invert), ("!", operator.not_)])
        text = f"({type})({symbol}({unsigned(type)}){a.text})"
        return Expression(text, type, lambda thread: wrapped(int(of(a.value(thread))), type))

    def _read(self, type, depth):
        place = self.any("unsigned", depth)
        text, last = f"input[{place.text} % {INPUT}u]", INPUT
        return cast(Expression(text, "int", lambda thread: thread.input[place.value(thread) % last]), type)

    def _float(self, depth):
        if depth <= 0 or self.random.random() < 0.3:
            of = self.any("int", depth - 1)
            return Expression(
                f"(float)({of.text} & {EXACT - 1})", "float", lambda thread: of.value(thread) & EXACT - 1
            )
        a, b = self._float(depth - 1), self._float(depth - 1)
        pattern, of = self.random.choice(
            [("({} + {})", operator.add), ("({} - {})", operator.sub), ("({} * {})", operator.mul)]
            + [("fminf({}, {})", min), ("fmaxf({}, {})", max), ("fabsf({} - {})", lambda a, b: abs(a - b))]
        )
        text = f"fmodf({pattern.format(a.text, b.text)}, {EXACT}.f)"
        return Expression(
            text, "float", lambda thread: remainder(of(a.value(thread), b.value(thread)), EXACT)
        )


def cast(expression, type):
    """Return an expression as one of another type; numbers of float are below `EXACT`."""
    if expression.type == type:
        return expression
    text, value = f"({type})({expression.text})", expression.value
    if expression.type == "float" and type.startswith("unsigned"):
        text = f"({type})(int)({expression.text})"
    if type == "float":
        text = f"(float)(({expression.text}) & {EXACT - 1})"
        return Expression(text, type, lambda thread: value(thread) & EXACT - 1)
    return Expression(text, type, lambda thread: wrapped(value(thread), type))

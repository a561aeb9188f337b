"""Random statements that a thread carries out by itself: their text, and what they do to its variables."""

import operator
from collections.abc import Callable, Generator
from typing import NamedTuple

from tests.kernels.extensions.fuzzing.expressions import Expression, Expressions, cast
from tests.kernels.extensions.fuzzing.numbers import TYPES, wrapped
from tests.kernels.extensions.fuzzing.threads import Meeting, Thread

LOCAL = 8  # elements of a thread's array
Run = Generator[
    Meeting, object, str | None
]  # returns what ends the statements around: break, continue, return


class Statement(NamedTuple):
    """A statement.

    Attributes:
        lines: It in CUDA C++.
        run: Carries it out for a thread.
    """

    lines: list[str]
    run: Callable[[Thread], Run]


def plain(text, change):
    """Return a statement that ends no other and waits for no thread."""

    def run(thread):
        change(thread)
        return None
        yield

    return Statement([text], run)


def sequence(statements):
    """Return statements one after the other, until one ends those around."""

    def run(thread):
        for statement in statements:
            if (ends := (yield from statement.run(thread))) is not None:
                return ends
        return None

    return Statement([line for statement in statements for line in statement.lines], run)


def block(head, statement):
    """Return the lines of a statement in braces."""
    return [f"{head} {{", *(f"  {line}" for line in statement.lines), "}"]


def looped(inner, name, numbers):
    """Return what carries out the body of a loop with each number of its variable."""

    def run(thread):
        for number in numbers(thread):
            thread.variables[name] = number
            ends = yield from inner.run(thread)
            if ends == "break":
                break
            if ends == "return":
                return ends
        return None

    return run


class Statements(Expressions):
    """Draws statements, and remembers which variables there are to write to."""

    def __init__(self, random):
        super().__init__(random)
        self.written = []
        self._names = 0

    def new_name(self, letter="v"):
        """Return a name that no other has."""
        self._names += 1
        return f"{letter}{self._names}"

    def define(self, expression, letter="v"):
        """Return the definition of a variable, which later statements read and write."""
        name = self.new_name(letter)
        self.variables[name] = expression.type
        self.written.append(name)
        return self._assigned(f"{expression.type} {name} = {expression.text};", name, expression.value)

    def assign(self, expression):
        """Return the assignment to some variable."""
        name = self.random.choice(self.written)
        value = cast(expression, self.variables[name])
        return self._assigned(f"{name} = {value.text};", name, value.value)

    def _assigned(self, text, name, value):
        return plain(text, lambda thread: thread.variables.update({name: value(thread)}))

    def some(self, depth, in_loop=False, most=4):
        """Return statements of a thread's own."""
        return sequence([self.one(depth, in_loop) for _ in range(self.random.randint(1, most))])

    def one(self, depth, in_loop=False):
        """Return a statement of a thread's own."""
        kinds = [self._assignment, self._assignment, self._compound, self._stepped, self._local, self._lambda]
        if depth > 0:
            kinds += [self._if, self._for, self._while, self._switch, self._pointer]
        if in_loop and self.random.random() < 0.15:
            return self._left()
        made = self.random.choice(kinds)
        return made(depth, in_loop) if made in (self._if, self._switch) else made(depth)

    def _assignment(self, depth):
        return self.assign(self.any())

    def _compound(self, depth):
        name = self.random.choice([name for name in self.written if self.variables[name] != "float"])
        type = self.variables[name]
        symbol, of = self.random.choice(
            [("^", operator.xor), ("|", operator.or_), ("&", operator.and_)]
            + ([] if TYPES[type][1] else [("+", operator.add), ("-", operator.sub), ("*", operator.mul)])
        )
        given = self.any(type)
        value = lambda thread: wrapped(of(thread.variables[name], given.value(thread)), type)  # noqa: E731
        return self._assigned(f"{name} {symbol}= {given.text};", name, value)

    def _stepped(self, depth):
        name = self.random.choice(self.written)
        other = self.random.choice([each for each in self.written if self.variables[each] != "float"])
        type, by = self.variables[other], self.random.choice((1, -1))
        if TYPES[type][1] or name == other:
            return self._assignment(depth)
        symbol, is_before = "++" if by == 1 else "--", self.random.random() < 0.5
        wide = cast(self._named(other), self.variables[name])
        text = wide.text.replace(other, f"{symbol}{other}" if is_before else f"{other}{symbol}")

        def change(thread):
            before = thread.variables[other]
            after = wrapped(before + by, type)
            seen = {**thread.variables, other: after if is_before else before}
            thread.variables[name] = wide.value(thread.__class__(**{**vars(thread), "variables": seen}))
            thread.variables[other] = after

        return plain(f"{name} = {text};", change)

    def _named(self, name):
        return Expression(name, self.variables[name], lambda thread: thread.variables[name])

    def _local(self, depth):
        place, given = self.any("unsigned", 2), self.any("int", 2)
        if self.random.random() < 0.5:

            def change(thread):
                thread.variables["local"][place.value(thread) % LOCAL] = given.value(thread)

            return plain(f"local[{place.text} % {LOCAL}] = {given.text};", change)
        name = self.random.choice([name for name in self.written if self.variables[name] != "float"])
        type = self.variables[name]
        value = lambda thread: wrapped(thread.variables["local"][place.value(thread) % LOCAL], type)  # noqa: E731
        return self._assigned(f"{name} = local[{place.text} % {LOCAL}];", name, value)

    def _lambda(self, depth):
        name = self.random.choice([name for name in self.written if self.variables[name] != "float"])
        type, given, function = self.variables[name], self.any("int", 2), self.new_name("f")
        text = f"auto {function} = [&](int x) {{ {name} = ({type})(x ^ {name}); return x & 7; }};"

        def change(thread):
            x = given.value(thread)
            thread.variables[name] = wrapped(x ^ thread.variables[name], type)
            thread.variables["local"][x & 7] = x

        called = f"  const int x = {given.text}; local[{function}(x)] = x; }}"
        return Statement([f"{{ {text}", called], plain("", change).run)

    def _pointer(self, depth):
        name = self.random.choice(self.written)
        pointer, value = self.new_name("p"), self.any(self.variables[name], 2)
        text = f"{{ {self.variables[name]}* {pointer} = &{name}; *{pointer} = {value.text}; }}"
        return self._assigned(text, name, value.value)

    def _if(self, depth, in_loop=False):
        chosen = self.condition()
        first, second = self._inner(depth - 1, in_loop), self._inner(depth - 1, in_loop)

        def run(thread):
            return (yield from (first if chosen.value(thread) else second).run(thread))

        return Statement([*block(f"if ({chosen.text})", first), *block("else", second)], run)

    def _inner(self, depth, in_loop):
        """Return statements whose own variables are not known behind them."""
        variables, written = dict(self.variables), list(self.written)
        statements = [self.define(self.any())] if self.random.random() < 0.5 else []
        inner = sequence([*statements, self.some(depth, in_loop)])
        self.variables, self.written = variables, written
        return inner

    def _for(self, depth):
        name, last = self.new_name("i"), self.any("unsigned", 1)
        self.variables[name] = "int"
        inner = self._inner(depth - 1, in_loop=True)
        del self.variables[name]
        pragma = self.random.choice((["#pragma unroll"], ["#pragma unroll 2"], []))
        end = self.new_name("n")
        head = f"for (int {name} = 0, {end} = int({last.text} % 5u); {name} < {end}; ++{name})"

        run = looped(inner, name, lambda thread: range(last.value(thread) % 5))
        return Statement([*pragma, *block(head, inner)], run)

    def _while(self, depth):
        name, first = self.new_name("w"), self.any("unsigned", 1)
        self.variables[name] = "unsigned"
        inner = self._inner(depth - 1, in_loop=True)
        del self.variables[name]
        is_first = self.random.random() < 0.5
        head = "do" if is_first else f"while ({name}-- > 0)"
        lines = [f"unsigned {name} = {first.text} & 3u;", *block(head, inner)]
        if is_first:
            lines[-1] = f"}} while ({name}-- > 0);"

        begun = 0 if is_first else 1
        run = looped(inner, name, lambda thread: range((first.value(thread) & 3) - begun, -1, -1))
        return Statement(lines, run)

    def _switch(self, depth, in_loop=False):
        chosen = self.any("unsigned", 2)
        cases = [self._inner(depth - 1, False) for _ in range(3)]
        falls = [self.random.random() < 0.4 for _ in cases]
        lines = [f"switch ({chosen.text} % 4u) {{"]
        for number, case in enumerate(cases):
            lines += [f"case {number + 1}: {{", *case.lines, "}" + ("" if falls[number] else " break;")]

        def run(thread):
            number = chosen.value(thread) % 4 - 1
            while 0 <= number < len(cases):
                if (ends := (yield from cases[number].run(thread))) is not None:
                    return ends
                number = number + 1 if falls[number] else len(cases)
            return None

        return Statement([*lines, "}"], run)

    def _left(self):
        """Return what ends this turn of the loop or the loop, if something holds."""
        chosen, word = self.condition(1), self.random.choice(("break", "continue"))

        def run(thread):
            return word if chosen.value(thread) else None
            yield

        return Statement([f"if ({chosen.text}) {word};"], run)

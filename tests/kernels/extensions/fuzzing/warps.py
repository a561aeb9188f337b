"""Random statements in which the threads of a tile or of a warp meet."""

import functools
import operator

from tests.kernels.extensions.fuzzing.expressions import Expression
from tests.kernels.extensions.fuzzing.numbers import wrapped
from tests.kernels.extensions.fuzzing.statements import Statement, Statements, block, sequence
from tests.kernels.extensions.fuzzing.threads import WARP, Meeting

ALL = "0xffffffffu"
# a reduction's name, the type whose numbers it takes, and what it makes of two
REDUCTIONS = {
    "add": ("unsigned", operator.add),
    "min": ("int", min),
    "max": ("unsigned", max),
    "and": ("unsigned", operator.and_),
    "or": ("unsigned", operator.or_),
    "xor": ("unsigned", operator.xor),
}
GROUPED = {"plus": "add", "less": "min", "greater": "max", "bit_and": "and", "bit_or": "or", "bit_xor": "xor"}


class Warps(Statements):
    """Draws statements of the threads of a warp, all of which are there."""

    def warps(self):
        """Return a statement that the threads of a warp begin together."""
        kinds = (self._shuffle, self._vote, self._match, self._reduce, self._part, self._tile, self._tile)
        return self.random.choice(kinds)()

    def _assigns(self, text, type, given, members, answer):
        """Return the definition of a variable by what a meeting answers."""
        name, place = self.new_name(), object()
        self.variables[name] = type
        self.written.append(name)

        def run(thread):
            brought = given.value(thread)
            thread.variables[name] = yield Meeting(place, members(thread), brought, answer)
            return None

        return Statement([f"{type} {name} = {text};"], run)

    def of_all(self, text, given, answer, members=lambda thread: thread.lanes, type=None):
        """Return the definition by a function of the numbers of all, by thread."""
        return self._assigns(
            text, type or given.type, given, members, lambda brought: _answered(brought, answer)
        )

    def _shuffle(self):
        given = self.any(self.random.choice(("int", "unsigned", "long long", "float")), 2)
        width, by = self.random.choice((32, 32, 16, 8)), self.random.randrange(32)
        kind = self.random.choice(("", "_up", "_down", "_xor"))
        text = f"__shfl{kind}_sync({ALL}, {given.text}, {by}, {width})"
        source = functools.partial(_source, kind, by, width)
        return self.of_all(text, given, lambda all, me: all.get(source(me), all[me]))

    def _vote(self):
        given = self.condition()
        name, type, of = self.random.choice(
            [("__any_sync", "int", lambda all, me: int(any(all.values())))]
            + [("__all_sync", "int", lambda all, me: int(0 not in all.values()))]
            + [("__ballot_sync", "unsigned", lambda all, me: _ballot(all))]
        )
        return self.of_all(f"{name}({ALL}, {given.text})", given, of, type=type)

    def _match(self):
        given = self.any("int", 1)
        given = Expression(f"({given.text} & 3)", "int", lambda thread, of=given: of.value(thread) & 3)
        of = lambda all, me: _ballot({at: each == all[me] for at, each in all.items()})  # noqa: E731
        return self.of_all(f"__match_any_sync({ALL}, {given.text})", given, of, type="unsigned")

    def _reduce(self):
        name = self.random.choice(list(REDUCTIONS))
        type, of = REDUCTIONS[name]
        given = self.any(type, 2)
        return self.of_all(f"__reduce_{name}_sync({ALL}, {given.text})", given, _reduced(of, type))

    def _part(self):
        """Return a meeting of those threads of a warp for which something holds."""
        chosen, mask = self.condition(), self.new_name("mask")
        name = self.random.choice(list(REDUCTIONS))
        type, of = REDUCTIONS[name]
        vote = self.of_all(
            f"__ballot_sync({ALL}, {chosen.text})", chosen, lambda all, me: _ballot(all), type="unsigned"
        )
        seen = list(self.variables)[-1]
        self.written.remove(seen)
        members = lambda thread: _members(thread, thread.variables[mask])  # noqa: E731
        remembered = self._assigned(
            f"const unsigned {mask} = {seen};", mask, lambda thread: thread.variables[seen]
        )
        given = self.any(type, 2)
        variables, written = dict(self.variables), list(self.written)
        reduced = f"__reduce_{name}_sync({mask}, {given.text})"
        text = self.random.choice((reduced, f"__shfl_sync({mask}, {given.text}, __ffs({mask}) - 1)"))
        answer = _reduced(of, type) if "reduce" in text else lambda all, me: all[min(all)]
        inner = sequence([self.of_all(text, given, answer, members), self.some(0)])
        self.variables, self.written = variables, written

        def run(thread):
            if thread.variables[mask] >> thread.lane & 1:
                yield from inner.run(thread)
            return None

        inside = Statement(block(f"if ({mask} >> (thread & 31) & 1)", inner), run)
        return sequence([vote, remembered, inside])

    def _tile(self):
        size, name = self.random.choice((4, 8, 16, 32)), self.random.choice(list(GROUPED))
        type, of = REDUCTIONS[GROUPED[name]]
        given, tile = self.any(type, 2), f"cg::tiled_partition<{size}>(cg::this_thread_block())"
        by = self.random.randrange(size)
        forms = [
            (f"cg::reduce({tile}, {given.text}, cg::{name}<{type}>())", _reduced(of, type)),
            (f"{tile}.shfl_xor({given.text}, {by})", lambda all, me: all[me ^ by]),
            (f"{tile}.shfl_down({given.text}, {by})", lambda all, me: all.get(me + by, all[me])),
            (f"{tile}.shfl({given.text}, {by})", lambda all, me: all[me - me % size + by]),
        ]
        text, answer = self.random.choice(forms)
        return self.of_all(text, given, answer, lambda thread: thread.tile(size))


def _answered(brought, answer):
    """Return what each thread takes with it of what all brought."""
    return {index: answer(brought, index) for index in brought}


def _source(kind, by, width, me):
    """Return whose number a shuffle reads; the thread's own, where the number is not there."""
    first, at = me - me % width, me % width
    place = {"": by % width, "_up": at - by, "_down": at + by, "_xor": at ^ by}[kind]
    if kind == "_xor":  # it may reach a part of lower lanes
        return me - me % WARP + (me % WARP ^ by) if (me % WARP ^ by) // width <= me % WARP // width else me
    return first + place if 0 <= place < width else me


def _ballot(numbers):
    return sum(1 << index % WARP for index, number in numbers.items() if number)


def _members(thread, mask):
    first = thread.index - thread.lane
    return frozenset(first + lane for lane in range(WARP) if mask >> lane & 1)


def _reduced(of, type):
    return lambda all, me: wrapped(functools.reduce(of, all.values()), type)

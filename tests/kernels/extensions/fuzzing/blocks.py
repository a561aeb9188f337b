"""Random statements in which the threads of a block meet."""

from tests.kernels.extensions.fuzzing.expressions import Expression
from tests.kernels.extensions.fuzzing.numbers import bits, wrapped
from tests.kernels.extensions.fuzzing.statements import Statement, block, sequence
from tests.kernels.extensions.fuzzing.threads import WARP, Meeting
from tests.kernels.extensions.fuzzing.warps import REDUCTIONS, Warps

TOTALS = 16  # sums of all blocks
ATOMIC = {"Add": "add", "Min": "min", "Max": "max", "And": "and", "Or": "or", "Xor": "xor"}


class Blocks(Warps):
    """Draws statements of all kinds; whole warps are there until a thread may have returned.

    Attributes:
        threads: How many threads a block has.
        shared: The arrays in the memory of a block: their names and types.
        is_whole: Whether no thread has returned.
    """

    def __init__(self, random, threads):
        super().__init__(random)
        self.threads, self.shared, self.is_whole = threads, {}, True

    def together(self, depth):
        """Return a statement that the threads of a block begin together."""
        kinds = [self._exchange, self._atomic, self._counted, self._total, self._tree]
        if self.is_whole:
            kinds += [self.warps] * 6
        if depth > 0:
            kinds += [self._uniform_for, self._uniform_for, self._uniform_if]
            kinds += [self._warps_own] if self.is_whole else []
        made = self.random.choice(kinds)
        return made(depth) if made in (self._uniform_for, self._uniform_if, self._warps_own) else made()

    def mixed(self, depth, most=3):
        """Return statements of which some are carried out together."""
        made = [self.together(depth) if self.random.random() < 0.6 else self.one(1) for _ in range(most)]
        return sequence(made)

    def returning(self):
        """Return the end of some threads."""
        chosen, self.is_whole = self.condition(), False
        stored = self.stored()

        def run(thread):
            if not chosen.value(thread):
                return None
            yield from stored.run(thread)
            return "return"

        return Statement([f"if ({chosen.text}) {{", *stored.lines, "return; }"], run)

    def stored(self):
        """Return the store of all variables."""
        names = list(self.variables)
        lines = [f"out[{place}] = (long long)({name});" for place, name in enumerate(names)]

        def run(thread):
            thread.variables["out"] = [bits(thread.variables[name], 64) for name in names]
            return None
            yield

        return Statement(lines, run)

    def array(self, type):
        """Return the name of an array in the memory of a block, of an element for each thread."""
        name = self.new_name("shared")
        self.shared[name] = type
        return name

    def _waits(self, text="__syncthreads();"):
        place = object()

        def run(thread):
            yield Meeting(place, None, None, dict.fromkeys)
            return None

        return Statement([text], run)

    def _exchange(self):
        given = self.any(self.random.choice(("int", "unsigned", "long long", "unsigned char")), 2)
        name = self.array(given.type)

        def write(thread):
            thread.shared[name][thread.index] = given.value(thread)
            return None
            yield

        stored = Statement([f"{name}[thread] = {given.text};"], write)
        wait = self.random.choice(("__syncthreads();", "cg::this_thread_block().sync();", "met();"))
        there = self.define(self._element(name, given.type))
        return sequence([stored, self._waits(wait), there, self._waits()])

    def _counted(self):
        given = self.condition()
        name, of = self.random.choice(
            [
                ("count", lambda all, me: sum(all.values())),
                ("and", lambda all, me: int(0 not in all.values())),
            ]
            + [("or", lambda all, me: int(any(all.values())))]
        )
        return self.of_all(f"__syncthreads_{name}({given.text})", given, of, lambda thread: None, "int")

    def _atomic(self):
        name = self.random.choice(list(ATOMIC))
        type, of = REDUCTIONS[ATOMIC[name]]
        array, given, chosen = self.array(type), self.any(type, 2), self.condition()

        def clear(thread):
            thread.shared[array][thread.index] = 0
            return None
            yield

        def change(thread):
            if chosen.value(thread):
                memory, place = thread.shared[array], thread.index & 3
                memory[place] = wrapped(of(memory[place], given.value(thread)), type)
            return None
            yield

        text = f"if ({chosen.text}) atomic{name}(&{array}[thread & 3], {given.text});"
        value = Expression(
            f"{array}[thread & 3]", type, lambda thread: thread.shared[array][thread.index & 3]
        )
        wait = self._waits
        return sequence(
            [wait(), Statement([f"{array}[thread] = 0;"], clear), wait(), Statement([text], change), wait()]
            + [self.define(value), wait()]
        )

    def _total(self):
        given, place = self.any("unsigned", 2), self.random.randrange(TOTALS)

        def change(thread):
            thread.totals[place] = bits(thread.totals[place] + given.value(thread))
            return None
            yield

        return Statement([f"atomicAdd(&totals[{place}], {given.text});"], change)

    def _tree(self):
        """Return the sum of a block's numbers, halved again and again."""
        given, name, step = self.any("unsigned", 2), self.array("unsigned"), self.new_name("step")
        first = 1 << (self.threads - 1).bit_length() - 1
        waits = [self._waits() for _ in range(3)]

        def run(thread):
            memory, me = thread.shared[name], thread.index
            memory[me] = given.value(thread)
            yield from waits[0].run(thread)
            by = first
            while by:
                if me < by and me + by < self.threads:
                    memory[me] = bits(memory[me] + memory[me + by])
                yield from waits[1].run(thread)
                by //= 2
            return None

        added = f"{name}[thread] += {name}[thread + {step}];"
        lines = [f"{name}[thread] = {given.text};", "__syncthreads();"]
        lines += [f"for (unsigned {step} = {first}; {step} > 0; {step} >>= 1) {{"]
        lines += [f"  if (thread < {step} && thread + {step} < {self.threads}u) {added}"]
        lines += ["  __syncthreads();", "}"]
        return sequence([Statement(lines, run), self.define(self._element(name, "unsigned")), waits[2]])

    def _element(self, name, type):
        """Return the read of some element of an array."""
        place = self.any("unsigned", 2)
        return Expression(
            f"{name}[{place.text} % {self.threads}u]",
            type,
            lambda thread: thread.shared[name][place.value(thread) % self.threads],
        )

    def _uniform_for(self, depth):
        name, turns = self.new_name("k"), self.random.randint(1, 3)
        variables, written = dict(self.variables), list(self.written)
        self.variables[name] = "int"
        inner = self.mixed(depth - 1)
        self.variables, self.written = variables, written
        leaves = self.random.random() < 0.3

        def run(thread):
            for k in range(turns + thread.block % 2):
                thread.variables[name] = k
                if (ends := (yield from inner.run(thread))) is not None:
                    return ends
                if leaves and k == thread.block:
                    break
            return None

        lines = block(f"for (int {name} = 0; {name} < {turns} + int(blockIdx.x & 1); ++{name})", inner)
        if leaves:
            lines.insert(-1, f"  if ({name} == blockIdx.x) break;")
        return Statement(lines, run)

    def _uniform_if(self, depth):
        variables, written = dict(self.variables), list(self.written)
        inner = self.mixed(depth - 1)
        self.variables, self.written = variables, written

        def run(thread):
            return (yield from inner.run(thread)) if thread.block % 2 else None

        return Statement(block("if (blockIdx.x & 1)", inner), run)

    def _warps_own(self, depth):
        """Return what every other warp does alone."""
        variables, written = dict(self.variables), list(self.written)
        inner = sequence([self.warps() for _ in range(2)])
        self.variables, self.written = variables, written

        def run(thread):
            return (yield from inner.run(thread)) if thread.index // WARP % 2 == 0 else None

        return Statement(block("if ((thread >> 5) % 2 == 0)", inner), run)

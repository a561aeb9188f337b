"""A case: a function that is being written, and what its names are."""

import contextlib
import random

SIZE = 1024  # of the memory of a case
RESULTS = 2048  # of a case, at most
SCALAR, VECTOR, MATRIX = "", "[8]", "[4, 8]"
ARGUMENTS = "ints, floats, left, right"


class Case:
    """A function of random statements.

    Attributes:
        name: Its name.
        lines: Its text.
    """

    def __init__(self, seed, attempt):
        self.random = random.Random(f"{seed} {attempt}")
        self.name = f"case_{seed}"
        self.lines = []
        self.types = {}  # of the names that are known
        self.targets = []  # of assignments in this block
        self.constants = set()  # names that may be constants of the compiler
        self._assigned = set()  # in this block
        self.depth, self._number, self._size = 1, 0, 0

    @property
    def source(self):
        """Its text, with `$` before literals."""
        return "\n".join([f"@triton.jit\ndef {self.name}({ARGUMENTS}):", *self.lines, "\n"])

    # text

    def write(self, line):
        self.lines.append("    " * self.depth + line)

    def new(self, letter, element, shape=SCALAR):
        self._number += 1
        name = f"{letter}{self._number}"
        self.types[name] = element, shape
        return name

    def chance(self, probability):
        return self.random.random() < probability

    def used(self, name):
        """Return a name as an operand, which the compiler does not know."""
        return f"({name} + zero)" if name in self.constants else name

    def names(self, element, shape=SCALAR):
        return [name for name, type in self.types.items() if type == (element, shape)]

    def operand(self, element, shape=SCALAR):
        names = self.names(element, shape)
        return self.used(self.random.choice(names[-6:] if self.chance(0.5) else names))

    def target(self):
        """Return a name to assign, rather one that this block has not assigned so far."""
        new = [name for name in self.targets if name not in self._assigned]
        name = self.random.choice(new if new and self.chance(0.7) else self.targets)
        self._assigned.add(name)
        return name

    # a case

    def begin(self):
        self.write("zero, columns, rows = tl.load(ints), tl.arange(0, 8), tl.arange(0, 4)")
        self.types |= {"zero": ("int32", SCALAR), "columns": ("int32", VECTOR)}
        firsts = [
            *[("int32", SCALAR, f"tl.load(ints + {number})") for number in range(1, 4)],
            *[("int32", SCALAR, f"${self.random.randrange(1, 4)}") for _ in range(2)],
            *[("int64", SCALAR, f"tl.load(ints + {number}).to(tl.int64)") for number in (4, 5)],
            *[("float32", SCALAR, f"tl.load(floats + {number})") for number in (0, 1)],
            *[("int32", VECTOR, "tl.load(ints + 8 + columns)"), ("int32", VECTOR, "columns")],
            *[("int32", VECTOR, "columns * zero"), ("int64", VECTOR, "columns.to(tl.int64)")],
            *[
                ("float32", VECTOR, "tl.load(floats + 8 + columns)"),
                ("float32", VECTOR, "columns.to(tl.float32)"),
            ],
            *[("int32", MATRIX, "tl.load(ints + 16 + rows[:, None] * 8 + columns[None, :])")],
            *[("*int32", SCALAR, f"ints + {SIZE // 2 + each}") for each in (0, 7)],
            *[
                ("*int32", VECTOR, f"ints + {SIZE // 2} + columns"),
                ("*int32", VECTOR, "ints + 99 + columns * 3"),
            ],
            *[("*float32", VECTOR, f"floats + {SIZE // 2} + columns")],
            *[("*int32", MATRIX, "ints + 512 + rows[:, None] * 16 + columns[None, :]")],
        ]
        for element, shape, text in firsts:
            name = self.new("v", element, shape)
            self.write(f"{name} = {text}")
            self.targets.append(name)
            if text.startswith("$"):
                self.constants.add(name)

    def end(self):
        """Store all that is known: pointers as their distance from the memory's begin, in bytes."""
        for name, (element, shape) in self.types.items():
            memory, value = "left", f"{self.used(name)}.to(tl.int64)"
            if element.startswith("*"):
                value += f" - {'ints' if element == '*int32' else 'floats'}.to(tl.int64)"
            elif element == "float32":
                memory, value = "right", name
            place = {SCALAR: "", VECTOR: " + columns", MATRIX: " + rows[:, None] * 8 + columns[None, :]"}[
                shape
            ]
            self.write(f"tl.store({memory} + {self._size}{place}, {value})")
            self._size += {SCALAR: 1, VECTOR: 8, MATRIX: 32}[shape]
        assert self._size <= RESULTS

    # statements

    @contextlib.contextmanager
    def nested(self, heading, targets):
        """Write what is written inside into an indented block, whose assignments are to ``targets``."""
        self.write(heading)
        saved = self.targets, dict(self.types), set(self.constants), self._assigned
        self.targets, self._assigned, self.depth = list(targets), set(), self.depth + 1
        yield
        self.depth -= 1
        self.targets, self.types, self.constants, self._assigned = saved

    def some_targets(self):
        count = self.random.randrange(2, 7)
        return self.random.sample(self.targets, min(count, len(self.targets)))

"""Random loops and branches, and whole kernels."""

from tests.kernels.triton.fuzzing import elementwise, memory, reductions, shapes
from tests.kernels.triton.fuzzing.numbers import EIGHT_BITS, FLOATS, INTEGERS, NUMBERS
from tests.kernels.triton.fuzzing.program import COLUMNS, ROWS, SHAPES, Program, load, store

ANY = (*NUMBERS, "int1")


def _yielded(program, value, begin):
    """Return a value to carry on: of the same type, made of what the block computes, and as exact."""
    found = [
        each
        for each in program.values[begin:]
        if each.shape == value.shape
        and (each.is_exact or not value.is_exact)
        and (each.type in INTEGERS) == (value.type in INTEGERS)
        and each.type in NUMBERS
    ]
    if not found or program.random.random() < 0.1:
        return value
    last = program.random.choice(found[-3:])
    if last.type != value.type:
        last = program.define(f"{{}}.to(tl.{value.type})", last)
    return program.define("{} + {}", value, last)


def _carried(program, count):
    """Return new names, and the value that each begins with."""
    values = [program.pick(NUMBERS) for _ in range(count)]
    return {program.new_name("c"): value for value in dict.fromkeys(values)}


def loop(program):
    carried = _carried(program, program.random.randrange(1, 4))
    for name, first in carried.items():
        program.write(f"{name} = {first.name}")
    counter = program.new_name("k")
    start, step = program.random.choice(((0, 1), (1, 2), (-2, 1)))
    end = program.random.choice(("4", "5", "pid + 3", "count % 4 + 1"))
    heading = f"for {counter} in range({start}, {end}, {step}):"
    repeats = program.random.random() < 0.3
    if repeats:
        program.add(f"{counter} = {start} + pid * 0")
        heading = f"while {counter} < {end}:"
    with program.nested(heading):
        program.values += [program.value(name) for name in carried]
        program.know(counter, like="pid")
        _turn(program, carried)
        if repeats:
            program.add(f"{counter} += {step}")
    program.values += [program.value(name) for name in carried]


def _turn(program, carried):
    """Write the body of a loop."""
    begin = len(program.values)
    body(program, program.random.randrange(2, 7))
    following = {name: _yielded(program, program.value(name), begin) for name in carried}
    held = {name: program.new_name("h") for name in carried}
    for name, value in following.items():
        program.add(f"{held[name]} = {value.name}")
    for name in reversed(carried):
        program.add(f"{name} = {held[name]}")


def early_return(program):
    if program.instances > 1 and program.depth == 1:
        program.add("if pid == 1:")
        program.add("    return")


def branch(program):
    condition = program.pick(("int1",), ())
    results = _carried(program, program.random.randrange(1, 3))
    for heading in (f"if {condition.name if condition else 'pid % 2 == 0'}:", "else:"):
        with program.nested(heading):
            begin = len(program.values)
            body(program, program.random.randrange(1, 5))
            for name, first in results.items():
                program.add(f"{name} = {_yielded(program, first, begin).name}")
    for name, first in results.items():
        program.know(name, like=first.name)


SIMPLE = [
    *elementwise.OPERATIONS * 2,
    *shapes.OPERATIONS,
    *reductions.OPERATIONS,
    *memory.OPERATIONS,
]


def body(program, count):
    for _ in range(count):
        statement = program.random.choice(SIMPLE)
        if program.depth < 3 and program.random.random() < 0.08:
            statement = program.random.choice((loop, branch))
        statement(program)


def make(seed, count=30):
    """Return a random kernel of about ``count`` operations."""
    program = Program(seed)
    for _ in range(5):
        load(program, program.random.choice((*ANY, *EIGHT_BITS)), program.random.choice(SHAPES))
    load(program, program.random.choice(INTEGERS), (COLUMNS,))
    load(program, program.random.choice(FLOATS), (ROWS, COLUMNS))
    body(program, count * 2 // 3)
    early_return(program)
    body(program, count // 3)
    for value in program.unused()[-24:]:
        store(program, value)
    return program

"""Random loops and branches, and whole kernels."""

import numpy as np

from tests.kernels.triton.fuzzing import elementwise, functions, memory, reductions, shapes
from tests.kernels.triton.fuzzing.numbers import EIGHT_BITS, FLOATS, INTEGERS, NUMBERS, Numbers, Value
from tests.kernels.triton.fuzzing.program import COLUMNS, ROWS, SHAPES, Program, Return, load, run, store_all

ANY = (*NUMBERS, "int1")


def _yielded(program, value, begin):
    """Return a value to carry on: of the same type, made of what the block computes, and as exact."""
    exact = value.is_exact
    found = [
        each
        for each in program.values[begin:]
        if each.shape == value.shape
        and (each.is_exact or not exact)
        and (each.type in INTEGERS) == (value.type in INTEGERS)
        and each.type in NUMBERS
    ]
    if not found or program.random.random() < 0.1:
        return value
    last = program.random.choice(found[-3:])
    if last.type != value.type:
        text = f"{{}}.to(tl.{value.type})"
        last = program.define(text, functions.to(last.type, value.type), last, type=value.type)
    return program.define("{} + {}", np.add, value, last, is_exact=exact)


def _carried(program, count):
    values = [program.pick(NUMBERS) for _ in range(count)]
    return [(Value(program.new_name("c"), v.type, v.shape, v.is_exact), v) for v in dict.fromkeys(values)]


def loop(program):
    carried = _carried(program, program.random.randrange(1, 4))
    for name, first in carried:
        program.write(f"{name.name} = {first.name}", _renaming(name, first))
    counter = Value(program.new_name("k"), "int32", ())
    start, step = program.random.choice(((0, 1), (1, 2), (-2, 1)))
    end = program.random.choice(("4", "5", "pid + 3", "count % 4 + 1"))
    heading = f"for {counter.name} in range({start}, {end}, {step}):"
    if program.random.random() < 0.3:
        heading = f"{counter.name} = {start} + pid * 0\n{'    ' * program.depth}while {counter.name} < {end}:"
    with program.nested(heading) as steps:
        program.values += [name for name, _ in carried]
        program.values.append(counter)
        begin = len(program.values)
        body(program, program.random.randrange(2, 7))
        for name, following in [(name, _yielded(program, name, begin)) for name, _ in carried]:
            held = program.new_name("h")
            program.write(f"{held} = {following.name}", _renaming(Value(held, "", ()), following))
            steps.append((name, held))
        assignments = [steps.pop(n) for n in reversed(range(len(steps))) if isinstance(steps[n], tuple)]
        for name, held in assignments:
            program.write(f"{name.name} = {held}", _renaming(name, Value(held, "", ())))
        if heading.startswith(f"{counter.name} ="):
            program.write(f"{counter.name} += {step}")

    def turn(environment):
        last = eval(end, {"pid": int(environment["pid"].array), "count": int(environment["count"].array)})
        for k in range(start, last, step):
            environment[counter.name] = Numbers(np.array(k, np.int32))
            run(steps, environment)

    program.add_step(turn)
    program.values += [name for name, _ in carried]


def early_return(program):
    if program.instances == 1 or program.depth > 1:
        return
    program.write("if pid == 1:")
    program.write("    return")

    def step(environment):
        if environment["pid"].array == 1:
            raise Return

    program.add_step(step)


def _renaming(name, value):
    def step(environment):
        environment[name.name] = environment[value.name]

    return step


def branch(program):
    condition = program.pick(("int1",), ())
    text, decide = "pid % 2 == 0", lambda environment: environment["pid"].array % 2 == 0
    if condition is not None:
        text, decide = condition.name, lambda environment: environment[condition.name].array
    results = _carried(program, program.random.randrange(1, 3))
    branches = []
    for heading in (f"if {text}:", "else:"):
        with program.nested(heading) as steps:
            begin = len(program.values)
            body(program, program.random.randrange(1, 5))
            for name, first in results:
                chosen = _yielded(program, first, begin)
                program.write(f"{name.name} = {chosen.name}", _renaming(name, chosen))
        branches.append(steps)
    program.add_step(lambda environment: run(branches[0 if decide(environment) else 1], environment))
    program.values += [name for name, _ in results]


SIMPLE = [
    *(elementwise.OPERATIONS + functions.OPERATIONS) * 2,
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
    store_all(program, program.unused()[-24:])
    return program

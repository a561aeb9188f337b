"""Random loads, stores and atomic operations."""

import numpy as np

from tests.kernels.triton.fuzzing.numbers import NUMBERS, Numbers, Value
from tests.kernels.triton.fuzzing.program import COLUMNS, ROWS

ANY = (*NUMBERS, "int1")
LENGTH = ROWS * COLUMNS


def masked_load(program):
    """A load of a part of a row or matrix, at places that move with the instance."""
    type = program.random.choice(NUMBERS)
    name = program.add_input(type, 2 * LENGTH)
    buffer, pid, count = Value(name, type, (2 * LENGTH,)), program.values[0], program.values[1]
    other = program.random.choice((0, 1, 5))
    stride, step = program.random.choice(((COLUMNS, 1), (1, ROWS), (COLUMNS, -1), (0, 2)))
    places = f"pid * 3 + rows[:, None] * {stride} + columns[None, :] * {step} + {COLUMNS if step < 0 else 0}"
    masks = {
        "columns[None, :] < {2}": lambda i, j, n: (j < n) & (i >= 0),
        "(columns[None, :] <= {2}) & (rows[:, None] < 9)": lambda i, j, n: (j <= n) & (i < 9),
        "(columns[None, :] + rows[:, None]) % 3 == 0": lambda i, j, n: (i + j) % 3 == 0,
        "rows[:, None] + 3 > columns[None, :]": lambda i, j, n: i + 3 > j,
        "(columns[None, :] < {2}) & (rows[:, None] * 2 < columns[None, :])": lambda i, j, n: (
            (j < n) & (i * 2 < j)
        ),
        "columns[None, :] >= {2}": lambda i, j, n: (j >= n) & (i >= 0),
    }
    mask = program.random.choice(list(masks))

    def compute(memory, pid, count):
        i, j = np.arange(ROWS)[:, None], np.arange(COLUMNS)[None, :]
        found = memory[pid * 3 + i * stride + j * step + (COLUMNS if step < 0 else 0)]
        return np.where(masks[mask](i, j, count), found, memory.dtype.type(other))

    text = f"tl.load({{0}} + {places}, mask={mask}, other={other})"
    program.define(text, compute, buffer, pid, count, shape=(ROWS, COLUMNS))


def gathered_load(program):
    places = program.pick(("int32", "int64", "uint8", "int16"))
    if places is None:
        return
    type = program.random.choice(NUMBERS)
    buffer = Value(program.add_input(type, 64), type, (64,))
    text = "tl.load({} + ({} & 63).to(tl.int32))"
    program.define(
        text, lambda memory, i: memory[(i & 63).astype(np.int64)], buffer, places, shape=places.shape
    )


def masked_store(program):
    value = program.pick(ANY, (ROWS, COLUMNS))
    if value is None:
        return
    name = program.add_output(value.type, LENGTH)
    stride, step = program.random.choice(((COLUMNS, 1), (1, ROWS)))
    condition = program.pick(("int1",), value.shape)
    mask = condition.name if condition else "columns[None, :] < count"
    places = f"pid * {LENGTH} + rows[:, None] * {stride} + columns[None, :] * {step}"
    program.write(f"tl.store({name} + {places}, {value.name}, mask={mask})")

    def step_(environment):
        numbers, target = environment[value.name], environment["memory"][name]
        i, j = np.arange(ROWS)[:, None], np.arange(COLUMNS)[None, :]
        at = int(environment["pid"].array) * LENGTH + i * stride + j * step
        chosen = (
            environment[condition.name].array
            if condition
            else (j < int(environment["count"].array)) & (i >= 0)
        )
        target.array[at[chosen]] = numbers.array[chosen]
        target.error[at[chosen]] = 0 if numbers.error is None else numbers.error[chosen]

    program.add_step(step_)


ATOMICS = {"add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or}
ATOMICS |= {"xor": np.bitwise_xor}


def atomic(program):
    value = program.pick(("int32", "uint32", "int64", "uint64"))
    if value is None or not value.shape:
        return
    places = program.pick(("int32", "int64"), value.shape)
    if places is None:
        return
    condition = program.pick(("int1",), value.shape)
    kind = program.random.choice(list(ATOMICS))
    name = program.add_output(value.type, 8)
    mask = f", mask={condition.name}" if condition else ""
    program.write(f"tl.atomic_{kind}({name} + ({places.name} & 7), {value.name}{mask})")

    def step(environment):
        at, numbers = environment[places.name].array & 7, environment[value.name].array
        chosen = environment[condition.name].array if condition else np.ones(at.shape, bool)
        ATOMICS[kind].at(environment["memory"][name].array, at[chosen], numbers[chosen])

    program.add_step(step)


def walk(program):
    """A loop whose pointers and masks move by a scalar in each turn, as over the columns of a matrix."""
    type, turns = (
        program.random.choice(("int32", "uint8", "int64", "float32")),
        program.random.randrange(2, 5),
    )
    rank = program.random.choice((1, 2))
    stride, shape = program.random.choice((COLUMNS, 2 * COLUMNS)), (ROWS, COLUMNS)[2 - rank :]
    size = ROWS * stride + COLUMNS * turns
    source = Value(program.add_input(type, size), type, (size,))
    target = program.add_output(type, size)
    pointer, left, total, turn = (program.new_name("w") for _ in range(4))
    row = f"rows[:, None] * {stride} + columns[None, :]" if rank == 2 else "columns"
    column = "columns[None, :]" if rank == 2 else "columns"
    step = program.random.choice((COLUMNS, COLUMNS // 2))
    program.write(f"{pointer} = {source.name} + {row}")
    program.write(f"{left} = {target} + pid * {size} + {row}")
    program.write(f"{total} = tl.zeros({list(shape)}, tl.{type})")
    with program.nested(f"for {turn} in range({turns}):"):
        program.write(
            f"{turn}_part = tl.load({pointer}, mask={column} + {turn} * {step} < count * 3, other=2)"
        )
        program.write(f"{total} += {turn}_part")
        program.write(f"tl.store({left}, {total}, mask={column} < count + {turn})")
        program.write(f"{pointer} += {step}")
        program.write(f"{left} += {step}")

    def compute(memory, pid, count, written):
        places = np.arange(COLUMNS) if rank == 1 else np.arange(ROWS)[:, None] * stride + np.arange(COLUMNS)
        j, found = np.broadcast_to(np.arange(COLUMNS), shape), np.zeros(shape, memory.dtype)
        for turn in range(turns):
            found += np.where(j + turn * step < count * 3, memory[places + turn * step], memory.dtype.type(2))
            seen = j < count + turn
            written[(pid * size + places + turn * step)[seen]] = found[seen]
        return found

    def run_(environment):
        memory = environment["memory"][target].array
        numbers = [environment[each].array for each in (source.name, "pid", "count")]
        environment[total] = Numbers(compute(*numbers, memory))

    program.add_step(run_)
    program.values.append(Value(total, type, shape))


OPERATIONS = [masked_load, masked_load, gathered_load, masked_store, atomic, walk, walk]

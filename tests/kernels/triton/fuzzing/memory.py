"""Random loads, stores and atomic operations."""

from tests.kernels.triton.fuzzing.numbers import NUMBERS
from tests.kernels.triton.fuzzing.program import COLUMNS, ROWS

ANY = (*NUMBERS, "int1")
LENGTH = ROWS * COLUMNS
MASKS = (
    "columns[None, :] < {1}",
    "(columns[None, :] <= {1}) & (rows[:, None] < 9)",
    "(columns[None, :] + rows[:, None]) % 3 == 0",
    "rows[:, None] + 3 > columns[None, :]",
    "(columns[None, :] < {1}) & (rows[:, None] * 2 < columns[None, :])",
    "columns[None, :] >= {1}",
)


def masked_load(program):
    """A load of a part of a row or matrix, at places that move with the instance."""
    type = program.random.choice(NUMBERS)
    name = program.add_input(type, 2 * LENGTH)
    other = program.random.choice((0, 1, 5))
    stride, step = program.random.choice(((COLUMNS, 1), (1, ROWS), (COLUMNS, -1), (0, 2)))
    places = f"pid * 3 + rows[:, None] * {stride} + columns[None, :] * {step} + {COLUMNS if step < 0 else 0}"
    mask = program.random.choice(MASKS)
    program.define(f"tl.load({name} + {places}, mask={mask}, other={other})", *program.values[:2])


def gathered_load(program):
    places = program.pick(("int32", "int64", "uint8", "int16"))
    if places is not None:
        name = program.add_input(program.random.choice(NUMBERS), 64)
        program.define(f"tl.load({name} + ({{}} & 63).to(tl.int32))", places)


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


def atomic(program):
    value = program.pick(("int32", "uint32", "int64", "uint64"))
    if value is None or not value.shape:
        return
    places = program.pick(("int32", "int64"), value.shape)
    if places is None:
        return
    condition = program.pick(("int1",), value.shape)
    kind = program.random.choice(("add", "max", "min", "and", "or", "xor"))
    name = program.add_output(value.type, 8)
    mask = f", mask={condition.name}" if condition else ""
    program.write(f"tl.atomic_{kind}({name} + ({places.name} & 7), {value.name}{mask})")


def walk(program):
    """A loop whose pointers and masks move by a scalar in each turn, as over the columns of a matrix."""
    type, turns = (
        program.random.choice(("int32", "uint8", "int64", "float32")),
        program.random.randrange(2, 5),
    )
    rank = program.random.choice((1, 2))
    stride, shape = program.random.choice((COLUMNS, 2 * COLUMNS)), (ROWS, COLUMNS)[2 - rank :]
    size = ROWS * stride + COLUMNS * turns
    source, target = program.add_input(type, size), program.add_output(type, size)
    pointer, left, total, turn = (program.new_name("w") for _ in range(4))
    row = f"rows[:, None] * {stride} + columns[None, :]" if rank == 2 else "columns"
    column = "columns[None, :]" if rank == 2 else "columns"
    step = program.random.choice((COLUMNS, COLUMNS // 2))
    program.write(f"{pointer} = {source} + {row}")
    program.write(f"{left} = {target} + pid * {size} + {row}")
    program.write(f"{total} = tl.zeros({list(shape)}, tl.{type})")
    with program.nested(f"for {turn} in range({turns}):"):
        program.add(f"{turn}_part = tl.load({pointer}, mask={column} + {turn} * {step} < count * 3, other=2)")
        program.add(f"{total} += {turn}_part")
        program.add(f"tl.store({left}, {total}, mask={column} < count + {turn})")
        program.add(f"{pointer} += {step}")
        program.add(f"{left} += {step}")
    program.values.append(program.value(total))


OPERATIONS = [masked_load, masked_load, gathered_load, masked_store, atomic, walk, walk]

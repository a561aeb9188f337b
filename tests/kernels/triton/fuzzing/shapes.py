"""Random operations that put elements at other places."""

from tests.kernels.triton.fuzzing.numbers import NUMBERS
from tests.kernels.triton.fuzzing.program import COLUMNS, ROWS

ANY = (*NUMBERS, "int1")


def transposed(program):
    a = program.pick(ANY, rank=2)
    if a is not None:
        program.define(program.random.choice(("tl.trans({})", "tl.permute({}, 1, 0)")), a)


def reshaped(program):
    a = program.pick(ANY, rank=2)
    if a is None:
        return
    size = a.shape[0] * a.shape[1]
    shape = program.random.choice([(size // ROWS, ROWS), (size // COLUMNS, COLUMNS), (size // 64, 64)])
    program.define(f"tl.reshape({{}}, {list(shape)})", a)


def permuted(program):
    """A tensor of three axes and back."""
    a = program.pick(ANY, (ROWS, COLUMNS))
    if a is None:
        return
    order = program.random.choice([(0, 2, 1), (1, 0, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
    text = f"tl.reshape(tl.permute(tl.reshape({{}}, [{ROWS}, 4, 8]), {order}), [{ROWS}, {COLUMNS}])"
    program.define(text, a)


def joined(program):
    """Two rows made one and split in another way."""
    a = program.pick(ANY, (COLUMNS,))
    if a is None:
        return
    b = program.alike(a)
    text = f"tl.trans(tl.reshape(tl.interleave({{}}, {{}}), [2, {COLUMNS}]))"
    if program.random.random() < 0.5:
        text = f"tl.reshape(tl.trans(tl.join({{}}, {{}})), [{COLUMNS}, 2])"
    whole = program.define(text, a, b, keep=False)
    names = program.new_name("half"), program.new_name("half")
    program.write(f"{', '.join(names)} = tl.split({whole.name})")
    for name in names:
        program.define(name, whole)


def reversed_row(program):
    a = program.pick(NUMBERS, (COLUMNS,))
    if a is not None:
        program.define("tl.flip({}, 0)", a)


def spread(program):
    """A row or a column, repeated over a matrix."""
    a = program.pick(ANY, rank=1)
    if a is None:
        return
    size = a.shape[0]
    place, shape = ("None, :", [ROWS, size]) if program.random.random() < 0.5 else (":, None", [size, ROWS])
    program.define(f"tl.broadcast_to({{}}[{place}], {shape})", a)


def outer(program):
    """Arithmetic of a matrix and a row, a column or a scalar."""
    a = program.pick(NUMBERS, rank=2)
    if a is None:
        return
    axis = program.random.choice((0, 1, None))
    b = program.pick((a.type,), () if axis is None else (a.shape[axis],))
    if b is not None:
        place = {0: "[:, None]", 1: "[None, :]", None: ""}[axis]
        program.define(f"{{}} - {{}}{place}", a, b)


def gathered(program):
    a, places = program.pick(NUMBERS, (COLUMNS,)), program.pick(("int32",), (COLUMNS,))
    if a is not None and places is not None and a.is_exact:
        program.define(f"tl.gather({{}}, {{}} & {COLUMNS - 1}, 0)", a, places)


OPERATIONS = [transposed, reshaped, permuted, joined, joined, reversed_row, gathered]
OPERATIONS[6:6] = [spread] * 3 + [outer] * 2

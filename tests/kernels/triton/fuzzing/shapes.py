"""Random operations that put elements at other places."""

import numpy as np

from tests.kernels.triton.fuzzing.numbers import NUMBERS
from tests.kernels.triton.fuzzing.program import COLUMNS, ROWS

ANY = (*NUMBERS, "int1")


def transposed(program):
    a = program.pick(ANY, rank=2)
    if a is not None:
        text = program.random.choice(("tl.trans({})", "tl.permute({}, 1, 0)"))
        program.define(text, np.transpose, a, shape=a.shape[::-1], moves=True)


def reshaped(program):
    a = program.pick(ANY, rank=2)
    if a is None:
        return
    size = a.shape[0] * a.shape[1]
    shape = program.random.choice([(size // ROWS, ROWS), (size // COLUMNS, COLUMNS), (size // 64, 64)])
    text = f"tl.reshape({{}}, {list(shape)})"
    program.define(text, lambda x: x.reshape(shape), a, shape=shape, moves=True)


def permuted(program):
    """A tensor of three axes and back."""
    a = program.pick(ANY, (ROWS, COLUMNS))
    if a is None:
        return
    order = program.random.choice([(0, 2, 1), (1, 0, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
    text = f"tl.reshape(tl.permute(tl.reshape({{}}, [{ROWS}, 4, 8]), {order}), [{ROWS}, {COLUMNS}])"
    program.define(text, lambda x: x.reshape(ROWS, 4, 8).transpose(order).reshape(a.shape), a, moves=True)


def joined(program):
    """Two rows made one and split in another way."""
    a = program.pick(ANY, (COLUMNS,))
    if a is None:
        return
    b = program.alike(a)
    if program.random.random() < 0.5:
        text = f"tl.reshape(tl.trans(tl.join({{}}, {{}})), [{COLUMNS}, 2])"
        long = lambda x, y: np.concatenate([x, y]).reshape(-1, 2)  # noqa: E731
    else:
        text = f"tl.trans(tl.reshape(tl.interleave({{}}, {{}}), [2, {COLUMNS}]))"
        long = lambda x, y: np.stack([x, y], 1).reshape(2, -1).T  # noqa: E731
    whole = program.define(text, long, a, b, shape=(COLUMNS, 2), moves=True, keep=False)
    names = program.new_name("half"), program.new_name("half")
    program.write(f"{', '.join(names)} = tl.split({whole.name})")
    for number, name in enumerate(names):
        program.define(name, lambda x, n=number: x[:, n], whole, shape=a.shape, moves=True)


def reversed_row(program):
    a = program.pick(NUMBERS, (COLUMNS,))
    if a is not None:
        program.define("tl.flip({}, 0)", lambda x: x[::-1].copy(), a, moves=True)


def spread(program):
    """A row or a column, repeated over a matrix."""
    a = program.pick(ANY, rank=1)
    if a is None:
        return
    size = a.shape[0]
    is_row = program.random.random() < 0.5
    place, shape = ((None, slice(None)), (ROWS, size)) if is_row else ((slice(None), None), (size, ROWS))
    text = f"tl.broadcast_to({{}}[{'None, :' if is_row else ':, None'}], {list(shape)})"
    program.define(text, lambda x: np.broadcast_to(x[place], shape).copy(), a, shape=shape, moves=True)


def outer(program):
    """Arithmetic of a matrix and a row, a column or a scalar."""
    a = program.pick(NUMBERS, rank=2)
    if a is None:
        return
    axis = program.random.choice((0, 1, None))
    b = program.pick((a.type,), () if axis is None else (a.shape[axis],))
    if b is None:
        return
    place = {0: "[:, None]", 1: "[None, :]", None: ""}[axis]

    def along(y):
        return y[:, None] if axis == 0 else y

    def error(result, arrays, errors):
        return errors[0] + along(errors[1])

    program.define(f"{{}} - {{}}{place}", lambda x, y: x - along(y), a, b, error=error)


def gathered(program):
    a, places = program.pick(NUMBERS, (COLUMNS,)), program.pick(("int32",), (COLUMNS,))
    if a is not None and places is not None and a.is_exact:
        last = COLUMNS - 1
        program.define(f"tl.gather({{}}, {{}} & {last}, 0)", lambda x, i: x[i & last], a, places)


OPERATIONS = [transposed, reshaped, permuted, joined, joined, reversed_row, gathered]
OPERATIONS[6:6] = [spread] * 3 + [outer] * 2

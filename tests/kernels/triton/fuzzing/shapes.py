"""Random operations that put elements at other places."""

import numpy as np

from tests.kernels.triton.fuzzing.numbers import FLOATS, INTEGERS, combined
from tests.kernels.triton.fuzzing.program import COLUMNS, ROWS

ANY = (*INTEGERS, *FLOATS)


def moved(program, value, text, compute, shape):
    """Define a value whose elements are those of another at other places."""
    program.define(value.type, shape, text, rearranging(value.type, compute), [value])


def rearranging(type, compute):
    return combined(type, compute, None) if type not in FLOATS else _with_errors(type, compute)


def _with_errors(type, compute):
    def run(*operands):
        result = combined(type, compute)(*(_without_error(each) for each in operands))
        if any(each.error is not None for each in operands):
            errors = (np.zeros(e.array.shape) if e.error is None else e.error for e in operands)
            result.error = compute(*errors)
        return result

    return run


def _without_error(numbers):
    return type(numbers)(numbers.array)


def transposed(program):
    a = program.pick((*ANY, "int1"), rank=2)
    if a is not None:
        moved(
            program,
            a,
            program.random.choice(("tl.trans({})", "tl.permute({}, 1, 0)")),
            np.transpose,
            a.shape[::-1],
        )


def reshaped(program):
    a = program.pick((*ANY, "int1"), rank=2)
    if a is None:
        return
    size = a.shape[0] * a.shape[1]
    shape = program.random.choice([(size // ROWS, ROWS), (size // COLUMNS, COLUMNS), (size // 64, 64)])
    moved(program, a, f"tl.reshape({{}}, {list(shape)})", lambda x: x.reshape(shape), shape)


def permuted(program):
    """A tensor of three axes and back."""
    a = program.pick((*ANY, "int1"), (ROWS, COLUMNS))
    if a is None:
        return
    order = program.random.choice([(0, 2, 1), (1, 0, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
    text = f"tl.reshape(tl.permute(tl.reshape({{}}, [{ROWS}, 4, 8]), {order}), [{ROWS}, {COLUMNS}])"
    moved(program, a, text, lambda x: x.reshape(ROWS, 4, 8).transpose(order).reshape(a.shape), a.shape)


def joined(program):
    """Two rows made one and split in another way."""
    a = program.pick((*ANY, "int1"), (COLUMNS,))
    if a is None:
        return
    b = program.alike(a)
    if program.random.random() < 0.5:
        text = f"tl.reshape(tl.trans(tl.join({{}}, {{}})), [{COLUMNS}, 2])"
        long = lambda x, y: np.concatenate([x, y]).reshape(-1, 2)  # noqa: E731
    else:
        text = f"tl.trans(tl.reshape(tl.interleave({{}}, {{}}), [2, {COLUMNS}]))"
        long = lambda x, y: np.stack([x, y], 1).reshape(2, -1).T  # noqa: E731
    whole = program.define(a.type, (COLUMNS, 2), text, rearranging(a.type, long), [a, b], keep=False)
    names = program.new_name("half"), program.new_name("half")
    program.write(f"{', '.join(names)} = tl.split({whole.name})")
    for number, name in enumerate(names):
        moved(program, whole, name, lambda x, n=number: x[:, n], a.shape)


def reversed_row(program):
    a = program.pick(ANY, (COLUMNS,))
    if a is not None:
        moved(program, a, "tl.flip({}, 0)", lambda x: x[::-1].copy(), a.shape)


def spread(program):
    """A row or a column, repeated over a matrix."""
    a = program.pick((*ANY, "int1"), rank=1)
    if a is None:
        return
    size = a.shape[0]
    if program.random.random() < 0.5:
        shape = (ROWS, size)
        text = f"tl.broadcast_to({{}}[None, :], {list(shape)})"
        moved(program, a, text, lambda x: np.broadcast_to(x[None, :], shape).copy(), shape)
    else:
        shape = (size, ROWS)
        text = f"tl.broadcast_to({{}}[:, None], {list(shape)})"
        moved(program, a, text, lambda x: np.broadcast_to(x[:, None], shape).copy(), shape)


def outer(program):
    """Arithmetic of a matrix and a row, a column or a scalar."""
    a = program.pick(ANY, rank=2)
    if a is None:
        return
    axis = program.random.choice((0, 1, None))
    b = program.pick((a.type,), () if axis is None else (a.shape[axis],))
    if b is None:
        return
    place = {0: "[:, None]", 1: "[None, :]", None: ""}[axis]

    def subtract(x, y):
        return x - (y[:, None] if axis == 0 else y)

    def error(result, arrays, errors):
        return errors[0] + (errors[1][:, None] if axis == 0 else errors[1])

    exact = a.is_exact and b.is_exact
    program.define(
        a.type, a.shape, f"{{}} - {{}}{place}", combined(a.type, subtract, None if exact else error), [a, b]
    )


def gathered(program):
    a, places = program.pick(ANY, (COLUMNS,)), program.pick(("int32",), (COLUMNS,))
    if a is None or places is None:
        return
    text = f"tl.gather({{}}, {{}} & {COLUMNS - 1}, 0)"
    if a.is_exact:
        program.define(
            a.type, a.shape, text, combined(a.type, lambda x, i: x[i & (COLUMNS - 1)]), [a, places]
        )


OPERATIONS = [
    *(
        transposed,
        reshaped,
        permuted,
        joined,
        joined,
        reversed_row,
        spread,
        spread,
        spread,
        outer,
        outer,
        gathered,
    )
]

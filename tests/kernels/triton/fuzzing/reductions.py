"""Random reductions, scans and products of matrices."""

import numpy as np

from tests.kernels.triton.fuzzing.numbers import DIGITS, FLOATS, NUMBERS, rounding

# functions of two elements, or of two pairs, that may be grouped in any way
COMBINERS = """
@triton.jit
def added(a, b):
    return a + b

@triton.jit
def exclusive(a, b):
    return a ^ b

@triton.jit
def larger(a, b):
    return tl.where(a > b, a, b)

@triton.jit
def composed(a, b, c, d):
    return a * c, b * c + d

@triton.jit
def last_of_larger(a, i, b, j):
    wins = (b > a) | ((b == a) & (j > i))
    return tl.where(wins, b, a), tl.where(wins, j, i)
"""
REDUCTIONS = {
    "tl.sum({{}}, {})": np.add,
    "tl.max({{}}, {})": np.maximum,
    "tl.min({{}}, {})": np.minimum,
    "tl.xor_sum({{}}, {})": np.bitwise_xor,
    "tl.reduce({{}}, {}, added)": np.add,
    "tl.reduce({{}}, {}, exclusive)": np.bitwise_xor,
    "tl.reduce({{}}, {}, larger)": np.maximum,
}
SCANS = {
    "tl.cumsum({{}}, {}, reverse={})": np.add,
    "tl.cumprod({{}}, {}, reverse={})": np.multiply,
    "tl.associative_scan({{}}, {}, larger, reverse={})": np.maximum,
    "tl.associative_scan({{}}, {}, exclusive, reverse={})": np.bitwise_xor,
}


def _reduced_shape(shape, axis):
    return shape[:axis] + shape[axis + 1 :]


def reduction(program):
    a = program.pick(NUMBERS)
    if not a.shape:
        return
    axis = program.random.randrange(len(a.shape))
    shape, error, is_exact = _reduced_shape(a.shape, axis), None, True
    if a.type not in FLOATS:
        text = program.random.choice(list(REDUCTIONS))
        function = REDUCTIONS[text]
        compute = lambda x: function.reduce(x, axis, x.dtype)  # noqa: E731
        text = text.format(axis)
    else:
        kind = program.random.choice(("sum", "max", "min"))
        text = f"tl.{kind}({{}}, {axis})"
        if kind == "sum":
            compute, error, is_exact = lambda x: x.sum(axis, np.float64), _error_of_sum(a, axis), False
        else:
            function = {"max": np.fmax, "min": np.fmin}[kind].reduce
            compute, error = lambda x: function(x, axis), lambda r, x, e: e[0].max(axis)
    program.define(f"{text}.to(tl.{a.type})", compute, a, shape=shape, error=error, is_exact=is_exact)


def _error_of_sum(a, axis):
    def error(result, arrays, errors):
        total = np.abs(arrays[0]).sum(axis)
        return errors[0].sum(axis) + arrays[0].shape[axis] * total * DIGITS[a.type] + 1e-37

    return error


def place_of_extreme(program):
    a = program.pick(NUMBERS, is_exact=True)
    if not a.shape:
        return
    axis = program.random.randrange(len(a.shape))
    name, function = program.random.choice([("argmax", np.argmax), ("argmin", np.argmin)])
    numbers = program.define(
        "tl.where({} != {}, 0, {})", lambda x, *_: np.where(x != x, x.dtype.type(0), x), a, a, a
    )
    shape = _reduced_shape(a.shape, axis)
    program.define(
        f"tl.{name}({{}}, {axis})", lambda x: function(x, axis), numbers, type="int32", shape=shape
    )


def pair(program):
    """A reduction or scan of two tensors at once."""
    types = ("int8", "int16", "int32", "int64", "uint32")
    a = program.pick(types)
    if a is None or not a.shape:
        return
    b = program.pick(types, a.shape)
    axis = program.random.randrange(len(a.shape))
    combiner, compute = program.random.choice([("composed", _composed), ("last_of_larger", _last_of_larger)])
    if combiner == "composed":
        b = program.alike(a)
    scan = combiner == "composed" or program.random.random() < 0.5  # a reduction may change the order
    reverse = scan and program.random.random() < 0.4
    names = program.new_name("p"), program.new_name("p")
    call = f"tl.associative_scan(({a.name}, {b.name}), {axis}, {combiner}, {reverse})"
    if not scan:
        call = f"tl.reduce(({a.name}, {b.name}), {axis}, {combiner})"
    program.write(f"{', '.join(names)} = {call}")
    shape = a.shape if scan else _reduced_shape(a.shape, axis)
    for number, value in enumerate((a, b)):

        def chosen(x, y, number=number):
            found = _scanned(compute, x, y, axis, reverse)
            return found[number] if scan else found[number].take(-1, axis)

        program.define(names[number], chosen, a, b, type=value.type, shape=shape)


def _composed(a, b, c, d):
    return a * c, b * c + d


def _last_of_larger(a, i, b, j):
    wins = (b > a) | ((b == a) & (j > i))
    return np.where(wins, b, a), np.where(wins, j, i)


def _scanned(compute, x, y, axis, reverse):
    x, y = (np.moveaxis(each, axis, 0)[:: -1 if reverse else 1] for each in (x, y))
    rows = [(x[0], y[0])]
    for first, second in zip(x[1:], y[1:], strict=True):
        rows.append(compute(*rows[-1], first, second))
    results = (np.stack(each)[:: -1 if reverse else 1] for each in zip(*rows, strict=True))
    return [np.moveaxis(each, 0, axis) for each in results]


def scan(program):
    a = program.pick(("int32", "int64", "uint32", "uint64"))
    if a is None or not a.shape:
        return
    axis, reverse = program.random.randrange(len(a.shape)), program.random.random() < 0.4
    text = program.random.choice(list(SCANS))

    def compute(x):
        x = np.flip(x, axis) if reverse else x
        found = SCANS[text].accumulate(x, axis)
        return np.flip(found, axis) if reverse else found

    program.define(text.format(axis, reverse), compute, a)


def product(program):
    a = program.pick(("int8", "float16", "bfloat16", "float32"), rank=2)
    if a is None:
        return
    fitting = [
        each
        for each in program.values
        if each.type == a.type and each.shape[:1] == a.shape[1:] and len(each.shape) == 2
    ]
    if not fitting or (a.type == "int8" and a.shape[1] < 32):
        return
    b = program.random.choice(fitting)
    type = "int32" if a.type == "int8" else "float32"
    shape = a.shape[0], b.shape[1]
    first = program.pick((type,), shape)
    wide = np.int32 if type == "int32" else np.float64

    def multiply(x, y, *z):
        return x.astype(wide) @ y.astype(wide) + (z[0] if z else 0)

    def error(result, arrays, errors):
        (x, y, *z), (d, e, *f) = arrays, errors
        size = abs(x) @ abs(y) + (abs(z[0]) if z else 0)
        return abs(x) @ e + d @ abs(y) + d @ e + (f[0] if f else 0) + 40 * rounding(size, type)

    operands = [a, b] if first is None else [a, b, first]
    text = "tl.dot({}, {}" + (", {}" if first else "") + f', input_precision="ieee", out_dtype=tl.{type})'
    exact = type == "int32"
    program.define(text, multiply, *operands, type=type, shape=shape, error=error, is_exact=exact)


OPERATIONS = [*(reduction, reduction, reduction, place_of_extreme, pair, pair, scan, product, product)]

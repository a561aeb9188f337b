"""Random arithmetic and comparisons of each element."""

import numpy as np

from tests.kernels.triton.fuzzing.numbers import (
    FLOATS,
    INTEGERS,
    NARROW,
    SIGNED,
    UNSIGNED,
    combined,
    largest,
    storage,
)

WIDE = ("float32", "float64")


def of_product(result, arrays, errors):
    (a, b), (c, d) = arrays, errors
    return abs(a) * d + abs(b) * c + c * d


def arithmetic(program):
    a = program.pick()
    b = program.alike(a)
    symbol, function, error = program.random.choice(
        [("+", np.add, largest), ("-", np.subtract, largest), ("*", np.multiply, of_product)]
    )
    exact = a.is_exact and b.is_exact
    program.define(
        a.type, a.shape, f"{{}} {symbol} {{}}", combined(a.type, function, None if exact else error), [a, b]
    )


def with_literal(program):
    a = program.pick()
    literal = (
        program.random.choice((1, 3, 5)) if a.type in INTEGERS else program.random.choice((0.5, 3.0, 1.25))
    )
    symbol, function = program.random.choice([("+", np.add), ("*", np.multiply)])
    factor = literal if symbol == "*" else 1
    number = storage(a.type).type(literal)
    error = None if a.is_exact else lambda r, arrays, errors: errors[0] * factor
    program.define(
        a.type,
        a.shape,
        f"{{}} {symbol} {literal}",
        combined(a.type, lambda x: function(x, number), error),
        [a],
    )


def quotient(a, b):
    """Return quotients rounded towards zero, as in C."""
    whole = a // b
    return (whole + ((a % b != 0) & ((a < 0) != (b < 0))).astype(a.dtype)).astype(a.dtype)


def division_of_integers(program):
    a = program.pick(INTEGERS)
    if a is None:
        return
    b = program.alike(a)

    def divide(x, y):
        return quotient(x, np.where(y == 0, y.dtype.type(3), y))

    def remain(x, y):
        return np.fmod(x, np.where(y == 0, y.dtype.type(3), y))

    symbol, function = program.random.choice([("//", divide), ("%", remain)])
    program.define(
        a.type,
        a.shape,
        f"{{}} {symbol} tl.where({{}} == 0, 3, {{}})",
        lambda x, y, z: combined(a.type, function)(x, y),
        [a, b, b],
    )


def division(program):
    a = program.pick(FLOATS, is_exact=True)
    if a is None:
        return
    b = program.pick((a.type,), a.shape, is_exact=True)
    type = "float32" if a.type in NARROW else a.type

    def divide(x, y):
        return x / np.where(y == 0, y.dtype.type(2), y)

    def remain(x, y):
        return np.fmod(x, np.where(y == 0, y.dtype.type(2), y))

    symbol, function = program.random.choice([("/", divide), ("%", remain)])
    if symbol == "/" and type == "float32":  # a GPU's is off by two units of the last place
        text = "tl.div_rn({}.to(tl.float32), tl.where({} == 0, 2.0, {}).to(tl.float32))"
    else:
        text = f"{{}} {symbol} tl.where({{}} == 0, 2.0, {{}})"
    program.define(type, a.shape, text, lambda x, y, z: combined(type, function)(x, y), [a, b, b])


def shift(program):
    a = program.pick(INTEGERS)
    if a is None:
        return
    b, width = program.alike(a), storage(a.type).itemsize * 8
    if program.random.random() < 0.4:
        places = program.random.randrange(width)
        text, count, operands = f"{{}} SYMBOL {places}", None, [a]
    else:
        text, operands = f"{{}} SYMBOL ({{}} & {width - 1})", [a, b]
        count, places = True, 0
    symbol, function = program.random.choice([("<<", np.left_shift), (">>", np.right_shift)])

    def compute(x, y=None):
        return function(x, (y & y.dtype.type(width - 1)) if count else x.dtype.type(places))

    program.define(a.type, a.shape, text.replace("SYMBOL", symbol), combined(a.type, compute), operands)


def bitwise(program):
    a = program.pick((*INTEGERS, "int1"))
    b = program.alike(a)
    symbol, function = program.random.choice(
        [("&", np.bitwise_and), ("|", np.bitwise_or), ("^", np.bitwise_xor)]
    )
    program.define(a.type, a.shape, f"{{}} {symbol} {{}}", combined(a.type, function), [a, b])


def unary(program):
    a = program.pick((*INTEGERS, *FLOATS, "int1"))
    choices = [("-{}", np.negative), ("tl.abs({})", np.abs)]
    if a.type in (*INTEGERS, "int1"):
        choices = [("~{}", np.invert)]
    if a.type in SIGNED:
        choices += [("-{}", np.negative), ("tl.abs({})", np.abs)]
    if a.type in WIDE and a.is_exact:
        choices += [("tl.floor({})", np.floor), ("tl.ceil({})", np.ceil)]
    text, function = program.random.choice(choices)
    program.define(a.type, a.shape, text, combined(a.type, function), [a])


COMPARISONS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
COMPARISONS |= {"==": np.equal, "!=": np.not_equal}


def comparison(program):
    a = program.pick(is_exact=True)
    b = program.pick((a.type,), a.shape, is_exact=True)
    symbol = program.random.choice(list(COMPARISONS))
    program.define("int1", a.shape, f"{{}} {symbol} {{}}", combined("int1", COMPARISONS[symbol]), [a, b])


def choice(program):
    a = program.pick((*INTEGERS, *FLOATS, "int1"))
    b, condition = program.alike(a), program.pick(("int1",), a.shape)
    if condition is None:
        return
    exact = a.is_exact and b.is_exact
    program.define(
        a.type,
        a.shape,
        "tl.where({}, {}, {})",
        combined(a.type, np.where, None if exact else lambda r, arrays, e: np.where(arrays[0], e[1], e[2])),
        [condition, a, b],
    )


def extreme(program):
    a = program.pick()
    b = program.alike(a)
    name, function = program.random.choice([("maximum", np.fmax), ("minimum", np.fmin)])
    program.define(
        a.type,
        a.shape,
        f"tl.{name}({{}}, {{}}).to(tl.{a.type})",
        combined(a.type, function, None if a.is_exact and b.is_exact else largest),
        [a, b],
    )


def mixed(program):
    """Arithmetic of two types of integers, or of an integer and a float."""
    a, shape = program.pick(INTEGERS), None
    if a is None:
        return
    shape = a.shape
    b = program.pick(INTEGERS if program.random.random() < 0.6 else WIDE, shape, is_exact=True)
    if b is None or not shape:
        return
    type = b.type if b.type in FLOATS else promoted(a.type, b.type)
    program.define(
        type,
        shape,
        "{} + {}",
        combined(type, lambda x, y: np.add(x.astype(storage(type)), y.astype(storage(type)))),
        [a, b],
    )


def promoted(first, second):
    """Return the type of the arithmetic of two types of integers: C's rules with ranks by width."""
    ranks = {type: storage(type).itemsize for type in (first, second)}
    if (first in UNSIGNED) == (second in UNSIGNED):
        return max(first, second, key=ranks.__getitem__)
    unsigned, signed = (first, second) if first in UNSIGNED else (second, first)
    return unsigned if ranks[unsigned] >= ranks[signed] else signed


OPERATIONS = [
    *(arithmetic, arithmetic, with_literal, division_of_integers, division_of_integers, division),
    *(shift, shift, bitwise, unary, comparison, comparison, choice, choice, extreme, mixed, mixed),
]

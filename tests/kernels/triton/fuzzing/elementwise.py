"""Random arithmetic and comparisons of each element."""

import numpy as np

from tests.kernels.triton.fuzzing.numbers import (
    FLOATS,
    INTEGERS,
    NARROW,
    NUMBERS,
    SIGNED,
    UNSIGNED,
    largest,
    storage,
)

WIDE = ("float32", "float64")


def of_product(result, arrays, errors):
    (a, b), (c, d) = arrays, errors
    return abs(a) * d + abs(b) * c + c * d


def binary(types, *rows):
    """Return the operation on two values of a type that is drawn from rows: the text, function and error."""

    def operation(program):
        a = program.pick(types)
        b = program.alike(a)
        text, function, error = program.random.choice(rows)
        program.define(text.replace("TYPE", a.type), function, a, b, error=error)

    return operation


arithmetic = binary(
    NUMBERS,
    ("{} + {}", np.add, largest),
    ("{} - {}", np.subtract, largest),
    ("{} * {}", np.multiply, of_product),
)
bitwise = binary(
    (*INTEGERS, "int1"),
    ("{} & {}", np.bitwise_and, None),
    ("{} | {}", np.bitwise_or, None),
    ("{} ^ {}", np.bitwise_xor, None),
)
extreme = binary(
    NUMBERS,
    ("tl.maximum({}, {}).to(tl.TYPE)", np.fmax, largest),
    ("tl.minimum({}, {}).to(tl.TYPE)", np.fmin, largest),
)


def with_literal(program):
    a = program.pick()
    literal = program.random.choice((1, 3, 5) if a.type in INTEGERS else (0.5, 3.0, 1.25))
    symbol, function = program.random.choice([("+", np.add), ("*", np.multiply)])
    factor = literal if symbol == "*" else 1
    number = storage(a.type).type(literal)
    text = f"{{}} {symbol} {literal}"
    program.define(text, lambda x: function(x, number), a, error=lambda r, x, errors: errors[0] * factor)


def quotient(a, b):
    """Return quotients rounded towards zero, as in C."""
    whole = a // b
    return (whole + ((a % b != 0) & ((a < 0) != (b < 0))).astype(a.dtype)).astype(a.dtype)


def without_zeros(function, instead):
    """Return a function of two operands, the second of which is another number where it is zero."""
    return lambda x, y, _: function(x, np.where(y == 0, y.dtype.type(instead), y))


def division_of_integers(program):
    a = program.pick(INTEGERS)
    if a is None:
        return
    b = program.alike(a)
    symbol, function = program.random.choice([("//", quotient), ("%", np.fmod)])
    program.define(f"{{}} {symbol} tl.where({{}} == 0, 3, {{}})", without_zeros(function, 3), a, b, b)


def division(program):
    a = program.pick(FLOATS, is_exact=True)
    if a is None:
        return
    b = program.pick((a.type,), a.shape, is_exact=True)
    type = "float32" if a.type in NARROW else a.type
    symbol, function = program.random.choice([("/", np.divide), ("%", np.fmod)])
    text = f"{{}} {symbol} tl.where({{}} == 0, 2.0, {{}})"
    if symbol == "/" and type == "float32":  # a GPU's is off by two units of the last place
        text = "tl.div_rn({}.to(tl.float32), tl.where({} == 0, 2.0, {}).to(tl.float32))"
    program.define(text, without_zeros(function, 2), a, b, b, type=type)


def shift(program):
    a = program.pick(INTEGERS)
    if a is None:
        return
    b, width = program.alike(a), storage(a.type).itemsize * 8
    places = program.random.randrange(width) if program.random.random() < 0.4 else None
    symbol, function = program.random.choice([("<<", np.left_shift), (">>", np.right_shift)])
    if places is not None:
        program.define(f"{{}} {symbol} {places}", lambda x: function(x, x.dtype.type(places)), a)
    else:
        text = f"{{}} {symbol} ({{}} & {width - 1})"
        program.define(text, lambda x, y: function(x, y & y.dtype.type(width - 1)), a, b)


def unary(program):
    a = program.pick((*INTEGERS, *FLOATS, "int1"))
    choices = [("-{}", np.negative), ("tl.abs({})", np.abs)]
    if a.type in (*INTEGERS, "int1"):
        choices = [("~{}", np.invert)]
    if a.type in SIGNED:
        choices += [("-{}", np.negative), ("tl.abs({})", np.abs)]
    if a.type in WIDE and a.is_exact:
        choices += [("tl.floor({})", np.floor), ("tl.ceil({})", np.ceil)]
    program.define(*program.random.choice(choices), a)


COMPARISONS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
COMPARISONS |= {"==": np.equal, "!=": np.not_equal}


def comparison(program):
    a = program.pick(is_exact=True)
    b = program.pick((a.type,), a.shape, is_exact=True)
    symbol = program.random.choice(list(COMPARISONS))
    program.define(f"{{}} {symbol} {{}}", COMPARISONS[symbol], a, b, type="int1")


def choice(program):
    a = program.pick((*INTEGERS, *FLOATS, "int1"))
    b, condition = program.alike(a), program.pick(("int1",), a.shape)
    if condition is None:
        return

    def error(result, arrays, errors):
        return np.where(arrays[0], errors[1], errors[2])

    program.define("tl.where({}, {}, {})", np.where, condition, a, b, type=a.type, error=error)


def mixed(program):
    """Arithmetic of two types of integers, or of an integer and a float."""
    a = program.pick(INTEGERS)
    if a is None:
        return
    b = program.pick(INTEGERS if program.random.random() < 0.6 else WIDE, a.shape, is_exact=True)
    if b is None or not a.shape:
        return
    type = b.type if b.type in FLOATS else promoted(a.type, b.type)
    wide = storage(type)
    program.define("{} + {}", lambda x, y: np.add(x.astype(wide), y.astype(wide)), a, b, type=type)


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

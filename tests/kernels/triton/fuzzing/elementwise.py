"""Random arithmetic, comparisons, conversions and functions of each element."""

from tests.kernels.triton.fuzzing.numbers import (
    EIGHT_BITS,
    FLOATS,
    INTEGERS,
    NUMBERS,
    SIGNED,
    UNSIGNED,
    storage,
)

WIDE = ("float32", "float64")


def binary(types, *texts):
    """Return the operation on two values of a type, one of those that are written so."""

    def operation(program):
        a = program.pick(types)
        b = program.alike(a)
        program.define(program.random.choice(texts).replace("TYPE", a.type), a, b)

    return operation


arithmetic = binary(NUMBERS, "{} + {}", "{} - {}", "{} * {}")
bitwise = binary((*INTEGERS, "int1"), "{} & {}", "{} | {}", "{} ^ {}")
extreme = binary(NUMBERS, "tl.maximum({}, {}).to(tl.TYPE)", "tl.minimum({}, {}).to(tl.TYPE)")


def with_literal(program):
    a = program.pick()
    literal = program.random.choice((1, 3, 5) if a.type in INTEGERS else (0.5, 3.0, 1.25))
    program.define(f"{{}} {program.random.choice('+*')} {literal}", a)


def division_of_integers(program):
    a = program.pick(INTEGERS)
    if a is None:
        return
    b = program.alike(a)
    symbol = program.random.choice(("//", "%"))
    program.define(f"{{}} {symbol} tl.where({{}} == 0, 3, {{}})", a, b, b)


def division(program):
    a = program.pick(FLOATS, is_exact=True)
    if a is None:
        return
    b = program.pick((a.type,), a.shape, is_exact=True)
    symbol = program.random.choice("/%")
    text = f"{{}} {symbol} tl.where({{}} == 0, 2.0, {{}})"
    if symbol == "/" and a.type != "float64":  # a GPU's is off by two units of the last place
        text = "tl.div_rn({}.to(tl.float32), tl.where({} == 0, 2.0, {}).to(tl.float32))"
    program.define(text, a, b, b)


def shift(program):
    a = program.pick(INTEGERS)
    if a is None:
        return
    b, width = program.alike(a), storage(a.type).itemsize * 8
    places = program.random.randrange(width) if program.random.random() < 0.4 else None
    symbol = program.random.choice(("<<", ">>"))
    if places is not None:
        program.define(f"{{}} {symbol} {places}", a)
    else:
        program.define(f"{{}} {symbol} ({{}} & {width - 1})", a, b)


def unary(program):
    a = program.pick((*INTEGERS, *FLOATS, "int1"))
    texts = ["-{}", "tl.abs({})"]
    if a.type in (*INTEGERS, "int1"):
        texts = ["~{}"]
    if a.type in SIGNED:
        texts += ["-{}", "tl.abs({})"]
    if a.type in WIDE and a.is_exact:
        texts += ["tl.floor({})", "tl.ceil({})"]
    program.define(program.random.choice(texts), a)


def comparison(program):
    a = program.pick(is_exact=True)
    b = program.pick((a.type,), a.shape, is_exact=True)
    program.define(f"{{}} {program.random.choice(('<', '<=', '>', '>=', '==', '!='))} {{}}", a, b)


def choice(program):
    a = program.pick((*INTEGERS, *FLOATS, "int1"))
    b, condition = program.alike(a), program.pick(("int1",), a.shape)
    if condition is not None:
        program.define("tl.where({}, {}, {})", condition, a, b)


def mixed(program):
    """Arithmetic of two types of integers, or of an integer and a float."""
    a = program.pick(INTEGERS)
    if a is None:
        return
    b = program.pick(INTEGERS if program.random.random() < 0.6 else WIDE, a.shape, is_exact=True)
    if b is not None and a.shape:
        program.define("{} + {}", a, b)


def conversion(program):
    a = program.pick((*NUMBERS, *EIGHT_BITS, "int1"))
    targets = FLOATS if a.type in EIGHT_BITS or not a.is_exact else NUMBERS
    if a.type in ("float16", "float32") and a.is_exact:
        targets += EIGHT_BITS
    target = program.random.choice([each for each in targets if each != a.type])
    text = f"{{}}.to(tl.{target})"
    if target in EIGHT_BITS or (target in INTEGERS and a.type in FLOATS):
        low = 0 if target in UNSIGNED else -100
        text = f"tl.minimum(tl.maximum({{}}, {low}.0), 100.0).to(tl.{target})"
    program.define(text, a)


def reinterpreted(program):
    pairs = {"int32": "float32", "int64": "float64", "uint32": "int32", "int16": "uint16", "uint64": "int64"}
    a = program.pick((*pairs, "int8"), is_exact=True)
    if a is None:
        return
    target = pairs.get(a.type, "uint8")
    text = f"{{}}.to(tl.{target}, bitcast=True)"
    if target in FLOATS:  # no infinities and no NaN
        text = f"({{}} & {~(1 << (30 if target == 'float32' else 62))}).to(tl.{target}, bitcast=True)"
    program.define(text, a)


FUNCTIONS = (
    *("tl.exp(tl.minimum({}, 20.0))", "tl.exp2(tl.minimum({}, 20.0))", "tl.log(tl.abs({}) + 1)"),
    *("tl.sqrt(tl.abs({}) + 1)", "tl.sin({})", "tl.cos({})", "tl.sigmoid({})"),
)


def function(program):
    a = program.pick(WIDE)
    if a is not None:
        program.define(program.random.choice(FUNCTIONS), a)


def fused(program):
    a = program.pick(WIDE)
    if a is not None:
        program.define("tl.fma({}, {}, {})", a, program.alike(a), program.alike(a))


OPERATIONS = [
    *(arithmetic, arithmetic, with_literal, division_of_integers, division_of_integers, division),
    *(shift, shift, bitwise, unary, comparison, comparison, choice, choice, extreme, mixed, mixed),
    *(conversion, conversion, conversion, reinterpreted, function, fused),
]

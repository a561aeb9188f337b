"""Random conversions and functions of each element."""

import numpy as np

from tests.kernels.triton.fuzzing.elementwise import WIDE, of_product
from tests.kernels.triton.fuzzing.numbers import (
    EIGHT_BITS,
    FLOATS,
    INTEGERS,
    NARROW,
    NUMBERS,
    UNSIGNED,
    rounding,
    storage,
)


def conversion(program):
    a = program.pick((*NUMBERS, *EIGHT_BITS, "int1"))
    targets = FLOATS if a.type in EIGHT_BITS or not a.is_exact else NUMBERS
    if a.type in ("float16", "float32") and a.is_exact:
        targets += EIGHT_BITS
    target = program.random.choice([each for each in targets if each != a.type])
    text, function = f"{{}}.to(tl.{target})", to(a.type, target)
    if target in EIGHT_BITS or (target in INTEGERS and a.type in FLOATS):
        low = 0 if target in UNSIGNED else -100
        text = f"tl.minimum(tl.maximum({{}}, {low}.0), 100.0).to(tl.{target})"
        function = lambda x: np.fmin(np.fmax(x, low), 100)  # noqa: E731
    program.define(text, function, a, type=target)


def to(source, target):
    """Return the conversion that goes to a narrow type by float32."""
    if target in NARROW and source in INTEGERS + (("float64",) if target == "bfloat16" else ()):
        return lambda x: x.astype(np.float32)
    return lambda x: x


def reinterpreted(program):
    pairs = {"int32": "float32", "int64": "float64", "uint32": "int32", "int16": "uint16", "uint64": "int64"}
    a = program.pick((*pairs, "int8"), is_exact=True)
    if a is None:
        return
    target = pairs.get(a.type, "uint8")
    text, mask = f"{{}}.to(tl.{target}, bitcast=True)", -1
    if target in FLOATS:  # no infinities and no NaN
        mask = ~(1 << (30 if target == "float32" else 62))
        text = f"({{}} & {mask}).to(tl.{target}, bitcast=True)"

    def cast(x):
        kept = x & x.dtype.type(mask) if target in FLOATS else x
        return np.ascontiguousarray(kept).view(storage(target)).reshape(x.shape)

    program.define(text, cast, a, type=target)


def above_one(x):
    return abs(x) + x.dtype.type(1)


SLACK = 1e-6
FUNCTIONS = {
    "tl.exp(tl.minimum({}, 20.0))": (lambda x: np.exp(np.fmin(x, 20)), lambda r, e: r * e * 1.1),
    "tl.exp2(tl.minimum({}, 20.0))": (lambda x: np.exp2(np.fmin(x, 20)), lambda r, e: r * e),
    "tl.log(tl.abs({}) + 1)": (lambda x: np.log(above_one(x)), lambda r, e: e + SLACK),
    "tl.sqrt(tl.abs({}) + 1)": (lambda x: np.sqrt(above_one(x)), lambda r, e: e + abs(r) * SLACK),
    "tl.sin({})": (np.sin, lambda r, e: e + SLACK),
    "tl.cos({})": (np.cos, lambda r, e: e + SLACK),
    "tl.sigmoid({})": (lambda x: 1 / (1 + np.exp(-x.astype(np.float64))), lambda r, e: e + SLACK),
}


def function(program):
    a = program.pick(WIDE)
    if a is None:
        return
    text = program.random.choice(list(FUNCTIONS))
    compute, own = FUNCTIONS[text]

    def error(result, arrays, errors):
        return own(result, errors[0]) + 4 * rounding(result, a.type)

    program.define(text, compute, a, error=error, is_exact=False)


def fused(program):
    a = program.pick(WIDE)
    if a is None:
        return

    def error(result, arrays, errors):
        product = of_product(result, arrays[:2], errors[:2])
        return product + errors[2] + rounding(arrays[0] * arrays[1], a.type)

    operands = a, program.alike(a), program.alike(a)
    program.define("tl.fma({}, {}, {})", lambda x, y, z: x * y + z, *operands, error=error, is_exact=False)


OPERATIONS = [conversion, conversion, conversion, reinterpreted, function, fused]

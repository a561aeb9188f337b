"""Random conversions and functions of each element."""

import numpy as np

from tests.kernels.triton.fuzzing.elementwise import WIDE, of_product
from tests.kernels.triton.fuzzing.numbers import (
    EIGHT_BITS,
    FLOATS,
    INTEGERS,
    NARROW,
    UNSIGNED,
    combined,
    rounding,
    storage,
)


def conversion(program):
    a = program.pick((*INTEGERS, *FLOATS, *EIGHT_BITS, "int1"))
    targets = FLOATS if a.type in EIGHT_BITS or not a.is_exact else INTEGERS + FLOATS
    if a.type in ("float16", "float32") and a.is_exact:
        targets += EIGHT_BITS
    target = program.random.choice([each for each in targets if each != a.type])
    if target in EIGHT_BITS:
        text = f"tl.minimum(tl.maximum({{}}, -100.0), 100.0).to(tl.{target})"
        program.define(target, a.shape, text, combined(target, lambda x: np.fmin(np.fmax(x, -100), 100)), [a])
    elif target in INTEGERS and a.type in FLOATS:
        low = 0 if target in UNSIGNED else -100
        text = f"tl.minimum(tl.maximum({{}}, {low}.0), 100.0).to(tl.{target})"
        program.define(target, a.shape, text, combined(target, lambda x: np.fmin(np.fmax(x, low), 100)), [a])
    else:
        program.define(target, a.shape, f"{{}}.to(tl.{target})", combined(target, to(a.type, target)), [a])


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

    program.define(target, a.shape, text, combined(target, cast), [a])


FUNCTIONS = {
    "tl.exp(tl.minimum({}, 20.0))": (lambda x: np.exp(np.fmin(x, 20)), lambda r, a, e: r * e * 1.1),
    "tl.exp2(tl.minimum({}, 20.0))": (lambda x: np.exp2(np.fmin(x, 20)), lambda r, a, e: r * e),
    "tl.log(tl.abs({}) + 1)": (lambda x: np.log(abs(x) + x.dtype.type(1)), lambda r, a, e: e + SLACK),
    "tl.sqrt(tl.abs({}) + 1)": (
        lambda x: np.sqrt(abs(x) + x.dtype.type(1)),
        lambda r, a, e: e + abs(r) * SLACK,
    ),
    "tl.sin({})": (np.sin, lambda r, a, e: e + SLACK),
    "tl.cos({})": (np.cos, lambda r, a, e: e + SLACK),
    "tl.sigmoid({})": (lambda x: 1 / (1 + np.exp(-x.astype(np.float64))), lambda r, a, e: e + SLACK),
}
SLACK = 1e-6


def function(program):
    a = program.pick(WIDE)
    if a is None:
        return
    text = program.random.choice(list(FUNCTIONS))
    compute, error = FUNCTIONS[text]
    program.define(
        a.type,
        a.shape,
        text,
        combined(a.type, compute, lambda r, x, e: error(r, x, e[0]) + 4 * rounding(r, a.type)),
        [a],
        is_exact=False,
    )


def fused(program):
    a = program.pick(WIDE)
    if a is None:
        return
    b, c = program.alike(a), program.alike(a)

    def error(result, arrays, errors):
        product = of_product(result, arrays[:2], errors[:2])
        return product + errors[2] + rounding(arrays[0] * arrays[1], a.type)

    program.define(
        a.type,
        a.shape,
        "tl.fma({}, {}, {})",
        combined(a.type, lambda x, y, z: x * y + z, error),
        [a, b, c],
        is_exact=False,
    )


OPERATIONS = [conversion, conversion, conversion, reinterpreted, function, fused]

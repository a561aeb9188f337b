"""The functions of libdevice, by their names without prefix and without the suffix of single precision."""

from __future__ import annotations

import re

_SYMBOL = re.compile(r"__(?:nv|ocml)_(\w+)")
_OF_C = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc expm1 floor fmod
    hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb nearbyint nextafter pow
    remainder round sin sinh sqrt tan tanh tgamma trunc
""".split()
_OWN = """
    cyl_bessel_i0 cyl_bessel_i1
    erfcinv erfcx erfinv exp exp10 exp2 j0 j1 normcdf normcdfinv rcbrt rhypot jn norm3d norm4d
    rnorm3d rnorm4d rsqrt saturate sinpi cospi y0 y1 yn
""".split()
_ROUNDED = {"add": "add", "sub": "subtract", "mul": "multiply", "div": "divide"}

FUNCTIONS = {
    **{name: f"math::{name}" for name in _OF_C},
    **{name: f"math::{name}" for name in _OWN},
    **{f"fast_{name}": f"math::{name}" for name in "cos sin tan tanh log log2 log10 pow exp exp10".split()},
    **{f"f{kind}_rn": f"math::{function}" for kind, function in _ROUNDED.items()},
    **{f"d{kind}_rn": f"math::{function}" for kind, function in _ROUNDED.items()},
    "fast_fdivide": "math::divide",
    "fdivide": "math::divide",
    "frcp_rn": "math::reciprocal",
    "drcp_rn": "math::reciprocal",
    "fsqrt_rn": "math::sqrt",
    "dsqrt_rn": "math::sqrt",
    "frsqrt_rn": "math::rsqrt",
    "fmaf_rn": "math::multiply_add",
    "fma_rn": "math::multiply_add",
    "fma": "math::multiply_add",
    "fabs": "math::fabs",
    "abs": "math::absolute",
    "llabs": "math::absolute",
    "fmax": "math::larger",
    "fmin": "math::smaller",
    "fdim": "math::positive_difference",
    "rint": "math::nearbyint",
    "powi": "math::pow",
    "isnan": "math::is_nan",
    "isinf": "math::is_infinite",
    "isnand": "math::is_nan",
    "isinfd": "math::is_infinite",
    "finite": "math::is_finite",
    "isfinited": "math::is_finite",
    "signbit": "math::sign_bit",
    "signbitd": "math::sign_bit",
    "clz": "math::leading_zeros",
    "popc": "math::population",
    "ffs": "math::first_set",
    "brev": "math::reversed",
    "scalbn": "math::ldexp",
    "mulhi": "math::signed_high_product",
    "mul64hi": "math::signed_high_product",
    "umulhi": "unsigned_high_product",
    "umul64hi": "unsigned_high_product",
    "mul24": "math::product_of_24_bits",
    "umul24": "math::unsigned_product_of_24_bits",
    "hadd": "math::mean",
    "rhadd": "math::mean_rounded_up",
    "uhadd": "math::unsigned_mean",
    "urhadd": "math::unsigned_mean_rounded_up",
    "sad": "math::sum_of_difference",
    "usad": "math::unsigned_sum_of_difference",
    "float_as_int": "bits<int32_t>",
    "int_as_float": "bits<float>",
    "float_as_uint": "bits<int32_t>",
    "uint_as_float": "bits<float>",
    "double_as_longlong": "bits<int64_t>",
    "longlong_as_double": "bits<double>",
}


def function(symbol: str) -> str | None:
    """Return the C++ function for a symbol of libdevice, or None where there is none.

    >>> function("__nv_sqrtf")
    'math::sqrt'
    """
    match = _SYMBOL.fullmatch(symbol)
    name = match[1] if match else ""
    return (
        FUNCTIONS.get(name) or FUNCTIONS.get(name.removesuffix("f")) or FUNCTIONS.get(name.removesuffix("ll"))
    )

"""The functions of libdevice, by their names without prefix and without the suffix of single precision."""

from __future__ import annotations

_OF_C = (
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos", "cosh"),
    *("erf", "erfc", "expm1", "floor", "fmod", "hypot", "ilogb", "ldexp", "lgamma", "llrint", "llround", "log"),
    *("log10", "log1p", "log2", "logb", "nearbyint", "nextafter", "pow", "remainder", "round", "sin", "sinh"),
    *("sqrt", "tan", "tanh", "tgamma", "trunc"),
)
_OWN = (
    *("erfcinv", "erfcx", "erfinv", "exp", "exp10", "exp2", "j0", "j1", "normcdf", "normcdfinv", "rcbrt", "rhypot"),
    *("norm3d", "rnorm3d", "rsqrt", "saturate", "sinpi", "cospi", "y0", "y1"),
)
_ROUNDED = {"add": "add", "sub": "subtract", "mul": "multiply", "div": "divide"}

FUNCTIONS = {
    **{name: f"std::{name}" for name in _OF_C},
    **{name: f"math::{name}" for name in _OWN},
    **{f"fast_{name}": f"std::{name}" for name in ("cos", "sin", "tan", "tanh", "log", "log2", "log10", "pow")},
    **{f"fast_{name}": f"math::{name}" for name in ("exp", "exp10")},
    **{f"f{kind}_rn": f"math::{function}" for kind, function in _ROUNDED.items()},
    **{f"d{kind}_rn": f"math::{function}" for kind, function in _ROUNDED.items()},
    "fast_fdivide": "math::divide",
    "fdivide": "math::divide",
    "frcp_rn": "math::reciprocal",
    "drcp_rn": "math::reciprocal",
    "fsqrt_rn": "std::sqrt",
    "dsqrt_rn": "std::sqrt",
    "frsqrt_rn": "math::rsqrt",
    "fmaf_rn": "math::multiply_add",
    "fma_rn": "math::multiply_add",
    "fma": "math::multiply_add",
    "fabs": "std::fabs",
    "abs": "math::absolute",
    "llabs": "math::absolute",
    "fmax": "math::larger",
    "fmin": "math::smaller",
    "fdim": "math::positive_difference",
    "rint": "std::nearbyint",
    "powi": "std::pow",
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
    "mulhi": "high_product",
    "float_as_int": "bits<int32_t>",
    "int_as_float": "bits<float>",
    "float_as_uint": "bits<int32_t>",
    "uint_as_float": "bits<float>",
    "double_as_longlong": "bits<int64_t>",
    "longlong_as_double": "bits<double>",
}

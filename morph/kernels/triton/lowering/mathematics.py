"""Mathematical functions: MLIR's, and libdevice's."""

from __future__ import annotations

from morph.kernels.triton.errors import UnsupportedOperationError
from morph.kernels.triton.ir.operations import Operation
from morph.kernels.triton.lowering import libdevice
from morph.kernels.triton.lowering.arithmetic import call
from morph.kernels.triton.lowering.kernel import Kernel, lowers

COST = 20  # what a function takes, in additions
MATH = {
    "exp": "math::exp",
    "exp2": "math::exp2",
    "rsqrt": "math::rsqrt",
    "absf": "math::fabs",
    "fma": "math::multiply_add",
    "powf": "math::pow",
    "copysign": "math::copysign",
    "roundeven": "math::nearbyint",
    **{
        name: f"math::{name}"
        for name in (
            *(
                "log",
                "log2",
                "log10",
                "log1p",
                "expm1",
                "sqrt",
                "cbrt",
                "sin",
                "cos",
                "tan",
                "tanh",
                "sinh",
                "cosh",
            ),
            *(
                "asin",
                "acos",
                "atan",
                "atan2",
                "asinh",
                "acosh",
                "atanh",
                "erf",
                "erfc",
                "floor",
                "ceil",
                "trunc",
                "round",
            ),
        )
    },
}


@lowers(*(f"math.{name}" for name in MATH), "tt.precise_sqrt")
def _function(kernel: Kernel, operation: Operation) -> None:
    name = "sqrt" if operation.name == "tt.precise_sqrt" else operation.name.removeprefix("math.")
    call(kernel, operation, MATH[name], 1 if name in ("absf", "fma", "floor", "ceil") else COST)


@lowers("math.absi")
def _absolute(kernel: Kernel, operation: Operation) -> None:
    type = operation.outputs[0]
    kernel.elementwise(operation, type, lambda a: f"{type.c_type}(math::absolute({a}))")


@lowers("math.ctpop")
def _population(kernel: Kernel, operation: Operation) -> None:
    type = operation.outputs[0]
    kernel.elementwise(
        operation, type, lambda a: f"{type.c_type}(math::population(int64_t(u{type.c_type}({a}))))"
    )


@lowers("tt.mulhiui")
def _high_product(kernel: Kernel, operation: Operation) -> None:
    kernel.elementwise(operation, operation.outputs[0], lambda a, b: f"unsigned_high_product({a}, {b})", 2)


@lowers("tt.extern_elementwise")
def _libdevice(kernel: Kernel, operation: Operation) -> None:
    symbol = operation.attributes["symbol"].strip('"')
    function = libdevice.function(symbol)
    if function is None:
        raise UnsupportedOperationError(
            f"tt.extern_elementwise {symbol}", "there is no such function for the CPU"
        )
    type = operation.outputs[0]
    kernel.elementwise(operation, type, lambda *a: f"{type.c_type}({function}({', '.join(a)}))", COST)

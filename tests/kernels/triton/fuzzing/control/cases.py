"""Whole cases, what they must leave, and kernels of many of them."""

import contextlib
import re

import numpy as np

from tests.kernels.triton.fuzzing import language
from tests.kernels.triton.fuzzing.control.case import ARGUMENTS, RESULTS, SIZE, Case
from tests.kernels.triton.fuzzing.control.statements import block
from tests.kernels.triton.fuzzing.values import Budget, Memory, Pointer, Rejected

INSTANCES = 3
MOST_OPERATIONS = 30_000
HELPERS = """
@triton.jit
def exchanged(a, b):
    return b, a

@triton.jit(noinline=True)
def stepped(a, step, turns):
    for k in range(turns):
        a += step
        step += k
    return a, step

@triton.jit(noinline=True)
def ordered(a, b):
    if a > b:
        return b, a
    return a, b

"""


def memories(seed):
    """Return the memory of each instance of a case, of integers and of floating-point numbers."""
    numbers = np.random.default_rng(seed)
    ints = numbers.integers(-9, 10, (INSTANCES, SIZE)).astype(np.int32)
    ints[:, 0] = 0
    return ints, (numbers.integers(-40, 40, (INSTANCES, SIZE)) / 8).astype(np.float32)


def expected(case, seed):
    """Return what a case leaves in its memories and stores as results.

    Raises:
        Rejected: If it leaves its memory or takes too long.
    """
    namespace = {**language.namespace(), "literal": language.integer}
    exec(re.sub(r"\$(\d+)", r"literal(\1)", HELPERS + case.source), namespace)
    ints, floats = memories(seed)
    left, right = np.zeros((INSTANCES, RESULTS), np.int64), np.zeros((INSTANCES, RESULTS), np.float32)
    types = "int32", "float32", "int64", "float32"
    with Budget.limited(MOST_OPERATIONS):
        for rows in zip(ints, floats, left, right, strict=True):
            namespace[case.name](*map(Pointer, map(Memory, rows, types)))
    return ints, floats, left, right


def _written(seed, attempt):
    case = Case(seed, attempt)
    case.begin()
    block(case, case.random.randrange(5, 9))
    case.end()
    return case


def make(seed):
    """Return a case that stays within its memory, and what it must leave."""
    for attempt in range(10_000):
        case = _written(seed, attempt)
        with contextlib.suppress(Rejected):
            return case, expected(case, seed)
    raise AssertionError(f"seed {seed} gives no case")


def kernel_of(cases, name):
    """Return the text of a kernel that runs cases, each with a memory of its own for each instance."""
    calls = []
    for number, case in enumerate(cases):
        at = f"(pid + {number * INSTANCES})"
        sizes = {"ints": SIZE, "floats": SIZE, "left": RESULTS, "right": RESULTS}
        places = ", ".join(f"{pointer} + {at} * {size}" for pointer, size in sizes.items())
        calls.append(f"    {case.name}({places})")
    text = "".join(case.source.replace("$", "") for case in cases)
    return "\n".join(
        [HELPERS + text, f"@triton.jit\ndef {name}({ARGUMENTS}):", "    pid = tl.program_id(0)", *calls, ""]
    )

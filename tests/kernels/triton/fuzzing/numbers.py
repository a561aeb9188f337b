"""Numbers of triton's types in numpy, with the error that a computation of them may have."""

import dataclasses

import numpy as np
import torch

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
NARROW = ("float16", "bfloat16")
FLOATS = (*NARROW, "float32", "float64")
NUMBERS = INTEGERS + FLOATS
EIGHT_BITS = ("float8e5", "float8e4nv")
TORCH = {"int1": torch.bool, "float8e5": torch.float8_e5m2, "float8e4nv": torch.float8_e4m3fn}
DIGITS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-22, "float64": 2.0**-51}
SMALLEST = {"float16": 2.0**-23, "bfloat16": 1e-37, "float32": 1e-37, "float64": 1e-300}


@dataclasses.dataclass(frozen=True)
class Value:
    """A value of a kernel: its name, type and shape, and whether its numbers are known to the last bit."""

    name: str
    type: str
    shape: tuple[int, ...]
    is_exact: bool = True


@dataclasses.dataclass
class Numbers:
    """The numbers of a value: narrow floating-point numbers lie in float32."""

    array: np.ndarray
    error: np.ndarray | None = None


def torch_type(type):
    return TORCH[type] if type in TORCH else getattr(torch, type)


def storage(type):
    if type == "int1":
        return np.dtype(np.bool_)
    return np.dtype("float32" if type in NARROW + EIGHT_BITS else type)


def rounded(array, type):
    """Return numbers in a type, as a conversion from float32, float64 or an integer rounds them."""
    if type == "float16":
        return np.asarray(array).astype(np.float16).astype(np.float32)
    if type in NARROW + EIGHT_BITS:
        narrow = torch.from_numpy(np.array(array, np.float32)).to(torch_type(type))
        return narrow.to(torch.float32).numpy()
    return np.asarray(array).astype(storage(type))


def to_tensor(array, type):
    tensor = torch.from_numpy(np.array(array, storage(type)))
    return tensor.to(torch_type(type)) if type in NARROW + EIGHT_BITS else tensor


def from_tensor(tensor):
    tensor = tensor.cpu()
    return (tensor.float() if tensor.dtype in (torch.bfloat16, *TORCH.values()) else tensor).numpy()


def rounding(array, type):
    """Return how far a number of a type may lie from the exact one."""
    return np.abs(array.astype(np.float64)) * DIGITS[type] + SMALLEST[type]


def combined(type, function, propagate, is_exact, moves):
    """Return what computes a value from others; see `Program.define`."""

    def compute(*operands):
        arrays = [each.array for each in operands]
        with np.errstate(all="ignore"):
            result = rounded(function(*arrays), type)
            errors = [each.error for each in operands]
            if is_exact and all(error is None for error in errors):
                return Numbers(result)
            errors = [np.zeros(a.shape) if e is None else e for a, e in zip(arrays, errors, strict=True)]
            if moves:
                return Numbers(result, function(*errors))
            wide = [array.astype(np.float64) for array in arrays]
            propagated = (propagate or largest)(result, wide, errors)
        own = rounding(result, type) if type in DIGITS else 0
        return Numbers(result, np.broadcast_to(propagated + own, result.shape))

    return compute


def largest(result, arrays, errors):
    """Return the error of what is one of its operands."""
    return sum(errors[1:], errors[0])


def difference(found, expected, error):
    """Return where numbers lie further from the expected ones than they may, as a mask."""
    with np.errstate(all="ignore"):
        same = (found == expected) | ((found != found) & (expected != expected))
        if error is None:
            return ~same
        distance = np.abs(found.astype(np.float64) - expected.astype(np.float64))
        return ~(same | (distance <= error) | ~np.isfinite(error))

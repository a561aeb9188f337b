"""Numbers of triton's types in numpy."""

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


def promoted(first, second):
    """Return the type of the arithmetic of two types: C's rules, with ranks by width."""
    if first == second:
        return first
    floats = [type for type in (first, second) if type in FLOATS]
    if floats or (first in UNSIGNED) == (second in UNSIGNED):
        return max(floats or (first, second), key=lambda type: storage(type).itemsize)
    unsigned, signed = (first, second) if first in UNSIGNED else (second, first)
    return unsigned if storage(unsigned).itemsize >= storage(signed).itemsize else signed


def difference(found, expected, error):
    """Return where numbers lie further from the expected ones than they may, as a mask."""
    with np.errstate(all="ignore"):
        same = (found == expected) | ((found != found) & (expected != expected))
        if error is None:
            return ~same
        distance = np.abs(found.astype(np.float64) - expected.astype(np.float64))
        return ~(same | (distance <= error) | ~np.isfinite(error))

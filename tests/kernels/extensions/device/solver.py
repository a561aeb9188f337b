"""How the tests call cuSOLVER's functions: with column-major matrices inside of larger ones."""

from ctypes import byref, c_int, c_int64, c_size_t, c_void_p

import pytest
import torch

from tests.kernels.extensions.device.corpus import library

KINDS = {"S": torch.float32, "D": torch.float64, "C": torch.complex64, "Z": torch.complex128}
TYPES = {torch.float32: 0, torch.float64: 1, torch.complex64: 4, torch.complex128: 5}  # CUDA's numbers
LOWER, UPPER = 0, 1
UNINITIALIZED, INVALID, EXECUTION_FAILED, NOT_SUPPORTED = 1, 3, 6, 9
each_kind = pytest.mark.parametrize("kind", KINDS)
each_triangle = pytest.mark.parametrize("fill", [LOWER, UPPER])


def word(value):
    if isinstance(value, torch.Tensor):
        return c_void_p(value.data_ptr())
    return c_int64(ord(value) if isinstance(value, str) else value) if isinstance(value, int | str) else value


def made(what):
    """Return an object of cuSOLVER's, by its name."""
    into = c_void_p()
    assert getattr(library("solver"), f"cusolverDn{what}")(byref(into)) == 0
    return into


def raw(name, *arguments, handle=True):
    own = library("solver").handle
    own.restype = c_void_p
    first = c_void_p(own() if handle else None)
    return getattr(library("solver"), f"cusolverDn{name}")(first, *map(word, arguments))


def run(name, *arguments, out=(), then=(), count=1):
    """Call a function with a workspace of the size that it asks for; return what it tells in ``info``."""
    words, infos = c_int(), torch.full((count,), -7, dtype=torch.int32).cuda()
    assert raw(f"{name}_bufferSize", *arguments, byref(words), *then) == 0
    work = torch.zeros(2 * words.value, dtype=torch.float64).cuda()
    assert raw(name, *arguments, *out, work, words.value, infos, *then) == 0
    return infos.tolist() if count > 1 else infos.item()


def run_wide(name, *arguments, out=None, params=(None,), then=(), after=(), count=1):
    """Likewise for a function of 64 bits; `out` is an argument that its size does not take."""
    sizes, infos = (c_size_t(), c_size_t()), torch.full((count,), -7, dtype=torch.int32).cuda()
    asked = [each for each in arguments if each is not out or out is None]
    assert raw(f"{name}_bufferSize", *params, *asked, *map(byref, sizes), *then) == 0
    given = [each[0] if isinstance(each, tuple) else each for each in arguments]
    work = torch.zeros(sizes[0].value, dtype=torch.uint8).cuda()
    assert raw(name, *params, *given, work, sizes[0], None, sizes[1], infos, *then, *after) == 0
    return infos.tolist() if count > 1 else infos.item()


def matrix(rows, columns, dtype, *, batch=()):
    """Return a matrix whose columns lie two numbers farther apart than they must."""
    return torch.randn(*batch, columns, rows + 2, dtype=dtype).cuda().mT[..., :rows, :]


def copied(values):
    return matrix(*values.shape[-2:], values.dtype, batch=values.shape[:-2]).copy_(values)


def positive(n, dtype, **how):
    values = matrix(n, n, dtype, **how)
    return values.copy_(values @ values.mH + n * torch.eye(n).cuda())


def line(dtype, *shape):
    """Return zeros for the real values of a matrix of a type."""
    return torch.zeros(*shape, dtype=dtype).real.contiguous().cuda()


def triangle(values, fill, beside=0):
    return values.triu(beside) if fill else values.tril(-beside)


def symmetric(kind):
    return f"{kind}{'he' if KINDS[kind].is_complex else 'sy'}"


def close(found, expected):
    near = 1e-9 if found.dtype in (torch.float64, torch.complex128) else 1e-3
    torch.testing.assert_close(found, expected, rtol=near, atol=near)

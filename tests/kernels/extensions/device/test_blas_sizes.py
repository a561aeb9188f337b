"""cuBLAS's functions whose sizes have 64 bits do what those of 32 do."""

from ctypes import byref, c_int, c_int64, c_void_p

import pytest
import torch

from morph.backends.tables import library as tables
from tests.kernels.extensions.device.corpus import library
from tests.kernels.extensions.device.solver import KINDS, each_kind

LEFT, LOWER, NORMAL, ADJOINT, NON_UNIT = 0, 0, 0, 2, 0


class Size(int):
    """An integer that is a size."""


N, FAR = Size(4), Size(6)


def run(name, *arguments, wide):
    run.handle = getattr(run, "handle", None) or c_void_p()
    if not run.handle:
        assert library("blas").cublasCreate(byref(run.handle)) == 0
    sizes = c_int64 if wide else c_int

    def word(value):
        if isinstance(value, torch.Tensor):
            return c_void_p(value.data_ptr())
        return sizes(value) if isinstance(value, Size) else c_int(value)

    assert getattr(library("blas"), f"cublas{name}{'_64' * wide}")(run.handle, *map(word, arguments)) == 0


def both(name, *arguments):
    """Call both forms with copies of the tensors, and return those that are not alike; some must change."""
    all_of = [
        [each.clone() if isinstance(each, torch.Tensor) else each for each in arguments] for _ in range(2)
    ]
    for wide, copies in enumerate(all_of):
        run(name, *copies, wide=bool(wide))
    tensors = [each for each in zip(*all_of, arguments, strict=True) if isinstance(each[0], torch.Tensor)]
    assert any(not torch.equal(one, before) for one, _, before in tensors)
    return [name for one, other, _ in tensors if not torch.equal(one, other)]


@each_kind
def test_matrices_and_vectors(kind):
    one = torch.manual_seed(1)
    a, b, c = (torch.randn(4, 6, dtype=KINDS[kind], generator=one).cuda() for _ in range(3))
    x, y = torch.randn(2, 8, dtype=a.dtype, generator=one).cuda()
    two, norm = torch.full((1,), 2, dtype=a.dtype), torch.zeros(1, dtype=a.real.dtype)
    is_complex = a.is_complex()
    assert not both(f"{kind}gemm", NORMAL, ADJOINT, N, N, N, two, a, FAR, b, FAR, two, c, FAR)
    assert not both(f"{kind}geam", NORMAL, ADJOINT, N, N, two, a, FAR, two, b, FAR, c, FAR)
    assert not both(f"{kind}trsm", LEFT, LOWER, NORMAL, NON_UNIT, N, N, two, a, FAR, b, FAR)
    assert not both(f"{kind}dgmm", LEFT, N, N, a, FAR, x, Size(2), c, FAR)
    assert not both(f"{kind}gemv", ADJOINT, N, N, two, a, FAR, x, Size(2), two, y, Size(2))
    assert not both(f"{kind}{'gerc' if is_complex else 'ger'}", N, N, two, x, Size(2), y, Size(1), a, FAR)
    assert not both(f"{kind}{'dotc' if is_complex else 'dot'}", N, x, Size(2), y, Size(1), two)
    assert not both(f"{kind}axpy", N, two, x, Size(2), y, Size(1))
    assert not both(f"{kind}scal", N, two, x, Size(2))
    assert not both(f"{kind}copy", N, x, Size(2), y, Size(1))
    assert not both(f"{kind}swap", N, x, Size(2), y, Size(1))
    prefix = {"C": "Sc", "Z": "Dz"}.get(kind, kind)
    assert not both(f"{prefix}nrm2", N, x, Size(2), norm)
    assert not both(f"{prefix}asum", N, x, Size(2), norm)


@pytest.mark.parametrize("name", ["Isamax", "Isamin"])
def test_places_are_of_the_sizes_type(name):
    x, place = torch.tensor([3.0, 9, 1]).cuda(), torch.full((1,), -1)
    run(name, Size(3), x, Size(1), place, wide=True)
    assert place.item() == {"Isamax": 2, "Isamin": 3}[name]


def test_each_function_of_sizes_has_both_forms():
    table = tables.load("libcublas")
    recorded = set(table.releases["libcublas.so.13"])
    served = {name for name in recorded if table.entry(name).is_served}
    assert not ({f"{name}_64" for name in served} & recorded) - served

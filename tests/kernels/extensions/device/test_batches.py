"""cuBLAS's factors of batches in an extension: the matrices lie where arrays of pointers say."""

from ctypes import byref, c_int, c_void_p

import pytest
import torch

from tests.kernels.extensions.device.corpus import library
from tests.kernels.extensions.device.solver import KINDS, close, each_kind, matrix, positive, word

NORMAL, TRANSPOSED, ADJOINT = 0, 1, 2
SUPPORTED, INVALID = 0, 7
BATCH = 3


def run(name, *arguments):
    handle, blas = c_void_p(), library("blas")
    assert blas.cublasCreate(byref(handle)) == SUPPORTED
    status = getattr(blas, f"cublas{name}")(handle, *map(word, arguments))
    blas.cublasDestroy(handle)
    return status


def places(matrices):
    return torch.tensor([each.data_ptr() for each in matrices]).cuda()


def ints(*shape):
    return torch.full(shape, -7, dtype=torch.int32).cuda()


def unpivoted(factors, pivots):
    """Return the product of factors, its rows in the order that they had."""
    product = (factors.tril(-1) + torch.eye(len(factors)).cuda()) @ factors.triu()
    for i, pivot in reversed(list(enumerate(pivots.tolist()))):
        product[[i, pivot - 1]] = product[[pivot - 1, i]]
    return product


@each_kind
def test_factors_solutions_and_inverses(kind):
    dtype = KINDS[kind]
    a = matrix(4, 4, dtype, batch=(BATCH,))
    before, pivots, infos = a.clone(), ints(BATCH, 4), ints(BATCH)
    assert run(f"{kind}getrfBatched", 4, places(a), 6, pivots, infos, BATCH) == SUPPORTED
    assert infos.tolist() == [0] * BATCH
    for each, own, expected in zip(a, pivots, before, strict=True):
        close(unpivoted(each, own), expected)
    for op, applied in ((NORMAL, before), (TRANSPOSED, before.mT), (ADJOINT, before.mH)):
        b, info = matrix(4, 2, dtype, batch=(BATCH,)), c_int(-7)
        right = b.clone()
        arguments = (op, 4, 2, places(a), 6, pivots, places(b), 6, byref(info), BATCH)
        assert run(f"{kind}getrsBatched", *arguments) == SUPPORTED
        assert info.value == 0
        close(applied @ b, right)
    c = matrix(4, 4, dtype, batch=(BATCH,))
    assert run(f"{kind}getriBatched", 4, places(a), 6, pivots, places(c), 6, infos, BATCH) == SUPPORTED
    close(c, torch.linalg.inv(before))


@each_kind
def test_without_pivots(kind):
    a, infos = positive(4, KINDS[kind], batch=(BATCH,)), ints(BATCH)
    before = a.clone()
    assert run(f"{kind}getrfBatched", 4, places(a), 6, None, infos, BATCH) == SUPPORTED
    close((a.tril(-1) + torch.eye(4).cuda()) @ a.triu(), before)


@each_kind
def test_inverses_at_once(kind):
    a, c, infos = (
        matrix(4, 4, KINDS[kind], batch=(BATCH,)),
        matrix(4, 4, KINDS[kind], batch=(BATCH,)),
        ints(BATCH),
    )
    before = a.clone()
    assert run(f"{kind}matinvBatched", 4, places(a), 6, places(c), 6, infos, BATCH) == SUPPORTED
    assert torch.equal(a, before)
    close(c, torch.linalg.inv(before))


@each_kind
def test_reflections(kind):
    a, info = matrix(5, 3, KINDS[kind], batch=(BATCH,)), c_int(-7)
    scales, before = torch.zeros(BATCH, 3, dtype=KINDS[kind]).cuda(), a.clone()
    assert run(f"{kind}geqrfBatched", 5, 3, places(a), 7, places(scales), byref(info), BATCH) == SUPPORTED
    assert info.value == 0
    q = torch.linalg.householder_product(a.cpu(), scales.cpu()).cuda()
    close(q @ a[..., :3, :].triu(), before)


def test_a_singular_matrix_is_told_by_its_number():
    a, infos, pivots = matrix(3, 3, torch.float64, batch=(2,)), ints(2), ints(2, 3)
    a[1] = torch.ones(3, 3)
    assert run("DgetrfBatched", 3, places(a), 5, pivots, infos, 2) == SUPPORTED
    assert infos.tolist() == [0, 2]
    c = matrix(3, 3, torch.float64, batch=(2,))
    assert run("DgetriBatched", 3, places(a), 5, pivots, places(c), 5, infos, 2) == SUPPORTED
    assert infos.tolist() == [0, 2]
    assert c.isfinite().flatten(1).all(1).tolist() == [True, False]


@pytest.mark.parametrize("wrong", [(-1, 6, BATCH), (4, 3, BATCH), (4, 6, -1)])
def test_wrong_sizes(wrong):
    a, (n, leading, batch) = matrix(4, 4, torch.float64, batch=(BATCH,)), wrong
    assert run("DgetrfBatched", n, places(a), leading, ints(BATCH, 4), ints(BATCH), batch) == INVALID

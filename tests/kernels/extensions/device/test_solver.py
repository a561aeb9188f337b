"""cuSOLVER's factors and solutions in an extension, compared with torch."""

from ctypes import byref, c_int, c_size_t

import pytest
import torch

from tests.kernels.extensions.device.corpus import call, captured, library
from tests.kernels.extensions.device.solver import (
    EXECUTION_FAILED,
    INVALID,
    KINDS,
    LOWER,
    NOT_SUPPORTED,
    TYPES,
    UNINITIALIZED,
    close,
    copied,
    each_kind,
    each_triangle,
    made,
    matrix,
    positive,
    raw,
    run,
    run_wide,
    triangle,
)

NORMAL, TRANSPOSED, ADJOINT = 0, 1, 2


@each_kind
@each_triangle
def test_cholesky(kind, fill):
    a, b = positive(5, KINDS[kind]), matrix(5, 3, KINDS[kind])
    before, right, info, of = a.clone(), b.clone(), torch.ones(1).int().cuda(), TYPES[KINDS[kind]]
    wide, x = copied(a), copied(b)
    assert run(f"{kind}potrf", fill, 5, a, 7) == run_wide("Xpotrf", fill, 5, of, wide, 7, of) == 0
    factor = triangle(a, fill)
    close(factor.mH @ factor if fill else factor @ factor.mH, before)
    assert torch.equal(triangle(a, not fill, 1), triangle(before, not fill, 1))
    assert torch.equal(wide, a)
    assert raw(f"{kind}potrs", fill, 5, 3, a, 7, b, 7, info) == info.item() == 0
    assert raw("Xpotrs", None, fill, 5, 3, of, a, 7, of, x, 7, info) == info.item() == 0
    close(before @ b, right)
    assert torch.equal(x, b)
    assert run_wide("Xtrtri", fill, 0, 5, of, wide, 7, params=()) == 0
    close(triangle(wide, fill) @ factor, torch.eye(5, dtype=a.dtype).cuda())
    assert run(f"{kind}potri", fill, 5, a, 7) == 0
    close(triangle(a, fill), triangle(before.inverse(), fill))


@each_kind
def test_a_batch_by_cholesky(kind):
    a, b = positive(4, KINDS[kind], batch=(3,)), matrix(4, 1, KINDS[kind], batch=(3,))
    a[1, 2, 2] = -9
    before, right, infos = a.clone(), b.clone(), torch.full((4,), -7, dtype=torch.int32).cuda()
    lists = torch.tensor([[each.data_ptr() for each in of] for of in (a, b)]).cuda()
    assert raw(f"{kind}potrfBatched", LOWER, 4, lists[0], 6, infos, 3) == 0
    assert infos.tolist() == [0, 3, 0, -7]
    assert raw(f"{kind}potrsBatched", LOWER, 4, 1, lists[0], 6, lists[1], 6, infos, 3) == 0
    close((before @ b)[::2], right[::2])


@each_kind
@pytest.mark.parametrize("op", [NORMAL, TRANSPOSED, ADJOINT])
@pytest.mark.parametrize("pivoted", [True, False])
def test_lu(kind, op, pivoted):
    a, b, of = positive(5, KINDS[kind]), matrix(5, 2, KINDS[kind]), TYPES[KINDS[kind]]
    before, right = a.roll(1, 0) if pivoted else a.clone(), b.clone()
    a.copy_(before)
    work, pivots, info = (torch.full((n,), -7, dtype=torch.int32).cuda() for n in (64, 5, 1))
    long, wide, x = pivots.long(), copied(a), copied(b)
    rows = (pivots, long) if pivoted else (None, None)
    assert raw(f"{kind}getrf", 5, 5, a, 7, work, rows[0], info) == info.item() == 0
    out = (rows[1],)
    assert run_wide("Xgetrf", 5, 5, of, wide, 7, out, of, out=out) == 0
    expected = torch.linalg.lu_factor(before)
    if pivoted:
        assert torch.equal(pivots, expected.pivots)
        assert torch.equal(long, pivots.long())
    close(a if pivoted else (a.tril(-1) + torch.eye(5).cuda()) @ a.triu(), expected.LU if pivoted else before)
    assert torch.equal(wide, a)
    assert raw(f"{kind}getrs", op, 5, 2, a, 7, rows[0], b, 7, info) == info.item() == 0
    assert raw("Xgetrs", None, op, 5, 2, of, a, 7, rows[1], of, x, 7, info) == info.item() == 0
    close({NORMAL: before, TRANSPOSED: before.mT, ADJOINT: before.mH}[op] @ b, right)
    assert torch.equal(x, b)
    a.zero_()
    assert raw(f"{kind}getrf", 5, 5, a, 7, work, rows[0], info) == 0
    assert info.item() == 1


@each_kind
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("op", [NORMAL, ADJOINT])
def test_qr(kind, side, op):
    dtype, q = KINDS[kind], "un" if KINDS[kind].is_complex else "or"
    a, tau, c = (
        matrix(6, 4, dtype),
        torch.zeros(4, dtype=dtype).cuda(),
        matrix(*((6, 3), (3, 6))[side], dtype),
    )
    before, old, rows, wide, of = a.clone(), c.clone(), len(c), copied(a), TYPES[dtype]
    assert run_wide("Xgeqrf", 6, 4, of, wide, 8, of, tau, of) == 0
    assert run(f"{kind}geqrf", 6, 4, a, 8, out=(tau,)) == 0
    assert torch.equal(wide, a)
    square = torch.linalg.householder_product(torch.nn.functional.pad(a, (0, 2)), tau)
    close(square[:, :4] @ a[:4].triu(), before)
    assert run(f"{kind}{q}mqr", side, op, rows, 9 - rows, 4, a, 8, tau, c, rows + 2) == 0
    by = square.mH if op else square
    close(c, old @ by if side else by @ old)
    assert run(f"{kind}{q}gqr", 6, 4, 4, a, 8, tau) == 0
    close(a, square[:, :4])


def test_a_program_that_solves():
    a, b = positive(6, torch.float64).clone(), torch.randn(6, dtype=torch.float64).cuda()
    expected = torch.linalg.solve(a, b)
    assert call("solver", "solve", 6, a.mT.contiguous(), b) == 0
    close(b, expected)


@each_kind
@pytest.mark.parametrize("lowest", [0, 1])
def test_solvers_that_may_refine(kind, lowest):
    dtype, name = KINDS[kind], kind + {"S": "SH", "D": "DS", "C": "CK", "Z": "ZC"}[kind][lowest]
    main = {"S": 1204, "D": 1203, "C": 1214, "Z": 1213}[kind]
    a, b, x, again = matrix(6, 4, dtype), matrix(6, 2, dtype), matrix(4, 2, dtype), matrix(4, 2, dtype)
    pivots, info, rounds, size = (
        torch.zeros(4).int().cuda(),
        torch.ones(1).int().cuda(),
        c_int(-1),
        c_size_t(),
    )
    params, infos = made("IRSParamsCreate"), made("IRSInfosCreate")
    sizes = (2, a, 8, b, 8, x, 6, None, size, byref(rounds), info)
    assert raw(f"{name}gels", 6, 4, *sizes) == info.item() == rounds.value == 0
    close(x, torch.linalg.lstsq(a, b).solution)
    assert raw(f"{name}gesv", 4, 2, a, 8, pivots, *sizes[3:]) == info.item() == 0
    close(a[:4] @ x, b[:4])
    sizes = (2, a, 8, b, 8, again, 6, None, size, byref(rounds), info)
    assert raw("IRSXgesv", params, infos, 4, *sizes) == 14  # CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC
    assert library("solver").cusolverDnIRSParamsSetSolverPrecisions(params, main, main + lowest) == 0
    assert library("solver").cusolverDnIRSParamsSetRefinementSolver(params, 1102) == 0
    assert raw("IRSXgesv", params, infos, 4, *sizes) == info.item() == 0
    assert torch.equal(again, x)


def test_errors():
    a, info = positive(4, torch.float32), torch.zeros(1).int().cuda()
    sizes = (4, a, 6, a, 0, info)
    assert raw("Spotrf", LOWER, *sizes, handle=False) == UNINITIALIZED
    assert raw("Spotrf", LOWER, 4, a, 3, a, 0, info) == raw("Spotrf", 7, *sizes) == INVALID
    assert raw("Spotrf", LOWER, 4, a, 6, a, 0, None) == raw("Sgesvd_bufferSize", 4, 4, None) == INVALID
    wide = (a, 6, 2, None, c_size_t(), None, c_size_t(), info)
    assert raw("Xpotrf", None, LOWER, 4, 2, *wide) == raw("Xpotrf", None, LOWER, 4, 0, *wide) == NOT_SUPPORTED
    assert captured(raw, "Spotrf", LOWER, *sizes) == EXECUTION_FAILED

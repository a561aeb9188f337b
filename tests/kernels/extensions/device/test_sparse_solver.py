"""cuSOLVER of sparse matrices in an extension, compared with torch in float64."""

from ctypes import Structure, addressof, byref, c_double, c_float, c_int, c_size_t, c_void_p

import pytest
import torch

from tests.kernels.extensions.device.corpus import captured, library
from tests.kernels.extensions.device.solver import (
    EXECUTION_FAILED,
    INVALID,
    KINDS,
    UNINITIALIZED,
    close,
    each_kind,
)

MATRIX_TYPE_NOT_SUPPORTED, ZERO_PIVOT = 8, 10
each_base = pytest.mark.parametrize("base", [0, 1])
each_side = pytest.mark.parametrize("where", ["", "Host"])


class Single(Structure):
    """A complex number that is handed over by value."""

    _fields_ = (("real", c_float), ("imaginary", c_float))


class Double(Structure):
    """Likewise, of doubles."""

    _fields_ = (("real", c_double), ("imaginary", c_double))


def word(value):
    return c_void_p(value.data_ptr()) if isinstance(value, torch.Tensor) else value


def run(name, *arguments):
    return getattr(library("solver"), name)(*map(word, arguments))


def sp(name, *arguments):
    return run(f"cusolverSp{name}", handle(), *arguments)


def made(name):
    into = c_void_p()
    assert run(name, byref(into)) == 0
    return into


def handle():
    handle.made = getattr(handle, "made", None) or made("cusolverSpCreate")
    return handle.made


def real(kind, value):
    return (c_float if kind in "SC" else c_double)(value)


def number(kind, value):
    kinds = {"C": Single, "Z": Double}
    return kinds[kind](value.real, value.imag) if kind in kinds else real(kind, value)


def sparse(n, dtype, *, rows=None, positive=False):
    """Return a matrix of which half of the numbers are zeros; its diagonal is not."""
    one = torch.manual_seed(n)
    a = torch.randn(rows or n, n, dtype=dtype, generator=one)
    a *= torch.rand(rows or n, n, generator=one) < 0.4
    a[:n] += 3 * torch.eye(n)
    return a @ a.mH if positive else a


def wide(values):
    return values.to(torch.complex128 if values.is_complex() else torch.float64)


def csr(a, base=0, *, device="cuda"):
    """Return a matrix's number of numbers, descriptor, numbers, offsets and columns."""
    descr = made("cusparseCreateMatDescr")
    assert run("cusparseSetMatIndexBase", descr, base) == 0
    rows, columns = a.nonzero().unbind(1)
    offsets = torch.nn.functional.pad(rows.bincount(minlength=len(a)).cumsum(0), (1, 0))
    parts = (a[rows, columns], offsets.int() + base, columns.int() + base)
    return (len(rows), descr, *(each.to(device) for each in parts))


def dense(values, offsets, columns, base=0):
    n = len(offsets) - 1
    rows = torch.arange(n).repeat_interleave(offsets.cpu().diff())
    return torch.zeros(n, n, dtype=values.dtype).index_put((rows, columns.cpu().long() - base), values.cpu())


def device(where):
    return "cpu" if where else "cuda"


@each_kind
@each_base
@pytest.mark.parametrize("reorder", [0, 1])
@pytest.mark.parametrize("name", ["csrlsvqr", "csrlsvqrHost", "csrlsvchol", "csrlsvcholHost", "csrlsvluHost"])
def test_systems(kind, base, reorder, name):
    where = device("Host" in name)
    a = sparse(9, KINDS[kind], positive="chol" in name)
    a = a if "chol" in name else a.roll(1, 0)
    b, singular = torch.randn(9, dtype=a.dtype, device=where), c_int(7)
    x = torch.zeros_like(b)
    held = csr(
        a.tril() if "chol" in name else a, base, device=where
    )  # of Cholesky's the upper one is not read
    assert sp(f"{kind}{name}", 9, *held, b, real(kind, 1e-6), reorder, x, byref(singular)) == 0
    assert singular.value == -1
    close(x.cpu(), torch.linalg.solve(wide(a), wide(b.cpu())).to(a.dtype))


@pytest.mark.parametrize(("name", "found"), [("csrlsvqr", 3), ("csrlsvchol", 2), ("csrlsvluHost", 3)])
def test_what_is_singular(name, found):
    a = torch.eye(4, dtype=torch.float64)
    a[2, 3], a[3, 2], a[3, 3] = 2, 2, 4
    a[2, 2] = -1 if "chol" in name else 1
    x, singular = torch.full((4,), 7.0).double().cuda(), c_int()
    held = csr(a, device=device("Host" in name))
    b = torch.ones(4).double().to(device("Host" in name))
    assert sp(f"D{name}", 4, *held, b, c_double(1e-12), 0, x, byref(singular)) == 0
    assert singular.value == found


@each_kind
@pytest.mark.parametrize("rank", [5, 4])
def test_least_squares(kind, rank):
    a = sparse(5, KINDS[kind], rows=8)
    a[:, 3] = a[:, 3] if rank == 5 else a[:, 0] + 2 * a[:, 2]
    b, x, p = torch.randn(8, dtype=a.dtype), torch.zeros(5, dtype=a.dtype), torch.zeros(5).int()
    found, norm = c_int(), torch.zeros(1, dtype=a.real.dtype)
    held = csr(a, device="cpu")
    assert sp(f"{kind}csrlsqvqrHost", 8, 5, *held, b, real(kind, 1e-4), byref(found), x, p, norm) == 0
    best = (torch.linalg.pinv(wide(a), rtol=1e-5) @ wide(b)).to(a.dtype)
    assert found.value == rank
    assert p.tolist() == ([0, 1, 2, 3, 4] if rank == 5 else [0, 1, 2, 4, 3])
    close(a @ x, a @ best)
    close(norm, (b - a @ x).norm()[None])


@each_kind
@each_side
def test_the_eigenvalue_beside_a_number(kind, where):
    a = sparse(7, KINDS[kind], positive=True)
    values, vectors = torch.linalg.eigh(a)
    start = torch.ones(7, dtype=a.dtype, device=device(where))
    value, x = torch.zeros(1, dtype=a.dtype, device=device(where)), torch.zeros_like(start)
    near = number(kind, complex(values[3] + 0.01) if a.is_complex() else float(values[3] + 0.01))
    held = csr(a, device=device(where))
    assert sp(f"{kind}csreigvsi{where}", 7, *held, near, start, 100, real(kind, 1e-7), value, x) == 0
    close(value.cpu().real, values[3:4])
    close((vectors[:, 3].conj() @ x.cpu()).abs(), torch.ones(()).to(values.dtype))


@each_kind
@each_base
def test_a_batch_by_qr(kind, base):
    a, info = sparse(6, KINDS[kind]), made("cusolverSpCreateCsrqrInfo")
    nnz, descr, values, offsets, columns = csr(a, base)
    values = torch.stack([values, 2 * values, values + 0.1 * values.flip(0)])
    b, x, sizes = (
        torch.randn(3, 6, dtype=a.dtype).cuda(),
        torch.zeros(3, 6, dtype=a.dtype).cuda(),
        (c_size_t(), c_size_t()),
    )
    held = (descr, values, offsets, columns)
    assert sp("XcsrqrAnalysisBatched", 6, 6, nnz, descr, offsets, columns, info) == 0
    assert sp(f"{kind}csrqrBufferInfoBatched", 6, 6, nnz, *held, 3, info, *map(byref, sizes)) == 0
    assert sp(f"{kind}csrqrsvBatched", 6, 6, nnz, *held, b, x, 3, info, None) == 0
    for i in range(3):
        close(dense(values[i], offsets, columns, base) @ x[i].cpu(), b[i].cpu())
    values[1] = 0
    assert sp(f"{kind}csrqrsvBatched", 6, 6, nnz, *held, b, x, 3, info, None) == EXECUTION_FAILED


@each_kind
@each_side
def test_qr_and_cholesky_step_by_step(kind, where):
    a = sparse(6, KINDS[kind], positive=True)
    b, position, sizes = (
        torch.randn(6, dtype=a.dtype, device=device(where)),
        c_int(7),
        (c_size_t(), c_size_t()),
    )
    x, again, nothing = torch.zeros_like(b), torch.zeros_like(b), torch.zeros_like(b)
    nnz, descr, *parts = held = csr(a, device=device(where))
    qr, root = made(f"cusolverSpCreateCsrqrInfo{where}"), made(f"cusolverSpCreateCsrcholInfo{where}")
    assert sp(f"{kind}csrqrSolve{where}", 6, 6, b, x, qr, None) == INVALID  # nothing was factored
    assert sp(f"Xcsrqr{'Analysis'}{where}", 6, 6, nnz, descr, *parts[1:], qr) == 0
    assert sp(f"{kind}csrqrBufferInfo{where}", 6, 6, *held, qr, *map(byref, sizes)) == 0
    assert sp(f"{kind}csrqrSetup{where}", 6, 6, *held, number(kind, 0.5), qr) == 0
    assert sp(f"{kind}csrqrFactor{where}", 6, 6, nnz, b, x, qr, None) == 0
    assert sp(f"{kind}csrqrZeroPivot{where}", qr, real(kind, 1e-6), byref(position)) == 0
    assert sp(f"{kind}csrqrSolve{where}", 6, 6, b, again, qr, None) == 0
    assert position.value == -1
    assert torch.equal(x, again)
    close((a - 0.5 * torch.eye(6)) @ x.cpu(), b.cpu())
    assert sp(f"XcsrcholAnalysis{where}", 6, nnz, descr, *parts[1:], root) == 0
    assert sp(f"{kind}csrcholBufferInfo{where}", 6, *held, root, *map(byref, sizes)) == 0
    assert sp(f"{kind}csrcholFactor{where}", 6, *held, root, None) == 0
    assert sp(f"{kind}csrcholZeroPivot{where}", root, real(kind, 1e-6), byref(position)) == 0
    assert sp(f"{kind}csrcholSolve{where}", 6, b, x, root, None) == 0
    assert position.value == -1
    close(a @ x.cpu(), b.cpu())
    if not where:
        diagonal = nothing.real.contiguous()
        assert sp(f"{kind}csrcholDiag", root, diagonal) == 0
        close(diagonal.cpu(), torch.linalg.cholesky(a).diagonal().real)


def factored(kind, a, base=0):
    """Return what solves, the orders of rows and columns, and L and U as a program extracts them."""
    info, sizes, position = made("cusolverSpCreateCsrluInfoHost"), (c_int(), c_int()), c_int(7)
    n = len(a)
    nnz, descr, values, offsets, columns = held = csr(a, base, device="cpu")
    assert sp("XcsrluAnalysisHost", n, nnz, descr, offsets, columns, info) == 0
    assert sp(f"{kind}csrluFactorHost", n, *held, info, real(kind, 1), None) == 0
    assert sp(f"{kind}csrluZeroPivotHost", info, real(kind, 1e-6), byref(position)) == 0
    assert position.value == -1
    assert sp("XcsrluNnzHost", *map(byref, sizes), info) == 0
    p, q = torch.zeros(n).int(), torch.zeros(n).int()
    parts = [
        (torch.zeros(size.value, dtype=a.dtype), torch.zeros(n + 1).int(), torch.zeros(size.value).int())
        for size in sizes
    ]
    assert sp(f"{kind}csrluExtractHost", p, q, descr, *parts[0], descr, *parts[1], info, None) == 0
    return info, p, q, parts


@each_kind
@each_base
def test_lu_step_by_step(kind, base):
    a = sparse(8, KINDS[kind]).roll(1, 0)
    info, p, q, (lower, upper) = factored(kind, a, base)
    b = torch.randn(8, dtype=a.dtype)
    x = torch.zeros_like(b)
    assert sp(f"{kind}csrluSolveHost", 8, b, x, info, None) == 0
    close(a @ x, b)
    close((torch.eye(8) + dense(*lower, base)) @ dense(*upper, base), a[p][:, q])
    assert dense(*lower, base).abs().max() <= 1  # by the largest number of each column


@pytest.mark.parametrize("by_columns", [False, True])
def test_a_refactorization(by_columns):
    a = sparse(8, torch.float64).roll(1, 0)
    _, p, q, (lower, upper) = factored("D", a)
    made_of = made("cusolverRfCreate")
    held = a.mT if by_columns else a
    nnz, _, values, offsets, columns = csr(held)
    p, q, zero = p.cuda(), q.cuda(), c_double()
    factors = (lower[0].numel(), lower[1], lower[2], lower[0], upper[0].numel(), upper[1], upper[2], upper[0])
    assert run("cusolverRfSetMatrixFormat", made_of, int(by_columns), 2) == 0
    assert run("cusolverRfSetupHost", 8, nnz, offsets, columns, values, *factors, p, q, made_of) == 0
    assert run("cusolverRfRefactor", c_void_p()) == UNINITIALIZED
    assert run("cusolverRfAnalyze", made_of) == 0
    values *= 1 + torch.linspace(0, 0.1, nnz).cuda()
    assert run("cusolverRfResetValues", 8, nnz, offsets, columns, values, p, q, made_of) == 0
    assert run("cusolverRfRefactor", made_of) == 0
    changed = dense(values, offsets, columns)
    x = torch.randn(2, 8, dtype=torch.float64).cuda()
    right = x.clone()
    assert run("cusolverRfSolve", made_of, p, q, 2, x, 8, x, 8) == 0
    close((changed.mT if by_columns else changed) @ x.cpu().mT, right.cpu().mT)
    values.zero_()
    assert run("cusolverRfResetValues", 8, nnz, offsets, columns, values, p, q, made_of) == 0
    assert run("cusolverRfRefactor", made_of) == ZERO_PIVOT
    assert run("cusolverRfSetNumericProperties", made_of, c_double(1e-9), c_double(1)) == 0
    assert run("cusolverRfRefactor", made_of) == 0
    assert run("cusolverRfGetNumericBoostReport", made_of, byref(zero)) == 0
    assert c_int.from_address(addressof(zero)).value == 1


@each_base
@pytest.mark.parametrize("name", ["symrcm", "symamd", "symmdq", "metisnd"])
def test_orders(base, name):
    path = torch.randperm(40, generator=torch.manual_seed(1))
    a = torch.eye(40, dtype=torch.float64)
    for i, j in zip(path, path[1:], strict=False):
        a[i, j], a[j, i] = i + 1, j + 2
    nnz, descr, values, offsets, columns = csr(a, base, device="cpu")
    p, places, size, symmetric = torch.zeros(40).int(), torch.arange(nnz).int(), c_size_t(), c_int()
    options = (None,) if name == "metisnd" else ()
    assert sp("XcsrissymHost", 40, nnz, descr, offsets, offsets[1:], columns, byref(symmetric)) == 0
    assert symmetric.value == 1
    assert sp(f"Xcsr{name}Host", 40, nnz, descr, offsets, columns, *options, p) == 0
    assert sp("Xcsrperm_bufferSizeHost", 40, 40, nnz, descr, offsets, columns, p, p, byref(size)) == 0
    assert sp("XcsrpermHost", 40, 40, nnz, descr, offsets, columns, p, p, places, None) == 0
    moved = dense(values[places], offsets, columns, base)
    assert torch.equal(moved, a[p][:, p])
    rows, across = moved.nonzero().unbind(1)
    assert (rows - across).abs().max() == 1  # of a path each number beside its neighbours


def test_errors():
    a = torch.eye(4)
    nnz, descr, *parts = csr(a)
    b, x, singular = torch.ones(4).cuda(), torch.zeros(4).cuda(), c_int()
    rest = (b, c_float(), 0, x, byref(singular))
    assert run("cusolverSpScsrlsvqr", None, 4, nnz, descr, *parts, *rest) == UNINITIALIZED
    assert sp("Scsrlsvqr", 4, nnz, None, *parts, *rest) == INVALID
    assert sp("Scsrlsvqr", 4, nnz, descr, *parts, b, c_float(), 4, x, byref(singular)) == INVALID
    assert captured(sp, "Scsrlsvqr", 4, nnz, descr, *parts, *rest) == EXECUTION_FAILED
    parts[2][1] = 9
    assert sp("Scsrlsvqr", 4, nnz, descr, *parts, *rest) == EXECUTION_FAILED
    assert run("cusparseSetMatType", descr, 1) == 0
    assert sp("Scsrlsvqr", 4, nnz, descr, *parts, *rest) == MATRIX_TYPE_NOT_SUPPORTED


@pytest.mark.long
def test_a_factor_that_would_not_fit_is_refused():
    n = 20000
    ring = torch.arange(n)
    offsets = torch.arange(0, 3 * n + 1, 3).int()
    columns = (
        torch.stack([ring, (ring * 7919 + 1) % n, (ring * 104729 + 2) % n], 1).sort(1).values.flatten().int()
    )
    _, descr, *_ = csr(torch.eye(2))
    values, b, x = torch.rand(3 * n).cuda(), torch.ones(n).cuda(), torch.zeros(n).cuda()
    held = (3 * n, descr, values, offsets.cuda(), columns.cuda())
    assert sp("Scsrlsvqr", n, *held, b, c_float(), 0, x, byref(c_int())) == EXECUTION_FAILED

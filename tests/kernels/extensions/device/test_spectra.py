"""cuSOLVER's eigenvalues and singular values in an extension, compared with torch."""

from ctypes import byref, c_double, c_float, c_int, c_int64

import pytest
import torch

from tests.kernels.extensions.device.solver import (
    KINDS,
    LOWER,
    NOT_SUPPORTED,
    TYPES,
    close,
    copied,
    each_kind,
    each_triangle,
    line,
    made,
    matrix,
    positive,
    raw,
    run,
    run_wide,
    symmetric,
    triangle,
)

VALUES, VECTORS = 0, 1
ALL, BY_NUMBER, BY_VALUE = 1001, 1002, 1003


@each_kind
@pytest.mark.parametrize("jobs", ["AA", "SS", "OS", "SO", "NN"])
def test_singular_values(kind, jobs):
    a, u, v = matrix(6, 4, KINDS[kind]), matrix(6, 6, KINDS[kind]), matrix(4, 4, KINDS[kind])
    s, info, before, words = line(a.dtype, 4), torch.ones(1).int().cuda(), a.clone(), c_int()
    assert raw(f"{kind}gesvd_bufferSize", 6, 4, byref(words)) == 0
    assert raw(f"{kind}gesvd", *jobs, 6, 4, a, 8, s, u, 8, v, 6, u, words, None, info) == info.item() == 0
    close(s, torch.linalg.svdvals(before))
    left, right = a if jobs[0] == "O" else u[:, :4], a[:4] if jobs[1] == "O" else v
    if jobs != "NN":
        close(left * s @ right, before)
    assert raw(f"{kind}gesvd", *jobs, 4, 6, a, 8, s, u, 8, v, 8, u, words, None, info) == 3  # as on a GPU


@each_kind
@pytest.mark.parametrize("size", [(6, 4), (4, 6)])
@pytest.mark.parametrize("economic", [1, 0])
def test_singular_values_by_jacobi(kind, size, economic):
    params, told, batch = made("CreateGesvdjInfo"), c_double(), matrix(*size, KINDS[kind], batch=(3,))
    u, v = (torch.zeros(3, n, n, dtype=batch.dtype).cuda().mT for n in size)
    s = line(batch.dtype, 3, 4)
    sizes = (*size, batch, size[0] + 2, s, u, size[0], v, size[1])
    assert run(f"{kind}gesvdj", VECTORS, economic, *sizes, then=(params,)) == 0
    close(u[0, :, :4] * s[0] @ v[0, :, :4].mH, batch[0])
    assert [bool(each[0, :, 4:].any()) for each in (u, v)] == [n > 4 and not economic for n in size]
    assert raw("XgesvdjGetResidual", params, byref(told)) == 0
    assert told.value < 1e-4
    assert run(f"{kind}gesvdjBatched", VECTORS, *sizes, then=(params, 3), count=3) == [0, 0, 0]
    close(u[..., :4] * s[:, None] @ v[..., :4].mH, batch)
    assert raw("XgesvdjGetResidual", params, byref(told)) == NOT_SUPPORTED


@each_kind
def test_some_singular_values(kind):
    a, residuals, words = matrix(6, 4, KINDS[kind], batch=(3,)), torch.zeros(3, dtype=torch.float64), c_int()
    u, v = (torch.zeros(3, 2, n, dtype=a.dtype).cuda().mT for n in (6, 4))
    s, infos = line(a.dtype, 3, 2), torch.ones(3).int().cuda()
    sizes = (VECTORS, 2, 6, 4, a, 8, 32, s, 2, u, 6, 12, v, 4, 8)
    assert raw(f"{kind}gesvdaStridedBatched_bufferSize", *sizes, byref(words), 3) == 0
    assert raw(f"{kind}gesvdaStridedBatched", *sizes, u, words, infos, residuals, 3) == 0
    close(s, torch.linalg.svdvals(a)[:, :2])
    close(torch.linalg.matrix_norm(a - u * s[:, None] @ v.mH).cpu().float(), residuals.float())
    assert not infos.any()


@each_kind
def test_singular_values_of_64_bits(kind):
    a, dtype, error = matrix(6, 4, KINDS[kind]), KINDS[kind], c_double(1)
    of, real, s = TYPES[dtype], TYPES[line(dtype, 1).dtype], line(dtype, 4)
    u, v, before = matrix(6, 4, dtype), matrix(4, 4, dtype), a.clone()
    sizes = (of, a, 8, real, s, of, u, 8, of, v, 6, of)
    assert run_wide("Xgesvd", "S", "S", 6, 4, *sizes) == 0
    close(u * s @ v, before)
    assert run_wide("Xgesvdp", VECTORS, 1, 6, 4, *sizes, after=(byref(error),)) == error.value == 0
    close(u * s @ v.mH, before)
    expected, _, _ = s.clone(), u.zero_(), s.zero_()
    assert run_wide("Xgesvdr", "S", "N", 6, 4, 2, 1, 2, *sizes) == 0
    close(s, torch.cat([expected[:2], torch.zeros_like(expected[2:])]))
    close((u.mH @ before)[:2].norm(dim=1), expected[:2])


@each_kind
@each_triangle
def test_eigenvalues(kind, fill):
    name, params, of = symmetric(kind), made("CreateSyevjInfo"), TYPES[KINDS[kind]]
    a, w = positive(4, KINDS[kind], batch=(3,)), line(KINDS[kind], 3, 4)
    a[:] = triangle(a, fill)  # whose other half is not read
    whole, found, wide = a + triangle(a, fill, 1).mH, copied(a), copied(a)
    expected, real = torch.linalg.eigvalsh(whole), TYPES[w.dtype]
    assert run(f"{name}evd", VECTORS, fill, 4, found[0], 6, w) == 0
    close(found[0] * w[0] @ found[0].mH, whole[0])
    assert run(f"{name}evj", VALUES, fill, 4, found[1], 6, w[1], then=(params,)) == 0
    close(w[:2], expected[:2])
    assert run(f"{name}evjBatched", VECTORS, fill, 4, a, 6, w, then=(params, 3), count=3) == [0, 0, 0]
    close(a * w[:, None] @ a.mH, whole)
    assert run_wide("Xsyevd", VALUES, fill, 4, of, found[2], 6, real, w, of) == 0
    close(w[0], expected[2])
    arguments = (VECTORS, fill, 4, of, wide, 6, real, w, of)
    assert run_wide("XsyevBatched", *arguments, then=(3,), count=3) == [0, 0, 0]
    assert torch.equal(wide, a)


RANGES = {(ALL, 0, 0): slice(0, 4), (BY_NUMBER, 2, 3): slice(1, 3), (BY_VALUE, 1, 2): slice(2, 3)}


@each_kind
@pytest.mark.parametrize("asked", RANGES)
@pytest.mark.parametrize("paired", [False, True])
def test_some_eigenvalues(kind, asked, paired):
    a, number, of = positive(4, KINDS[kind]), c_float if kind in "SC" else c_double, TYPES[KINDS[kind]]
    b = positive(4, a.dtype) if paired else copied(torch.eye(4, dtype=a.dtype))
    inverse = torch.linalg.cholesky(b).inverse()
    values = torch.linalg.eigvalsh(inverse @ a @ inverse.mH)
    bounds = [number(float(values[i]) * (1 + 1e-4)) for i in asked[1:]]
    w, count, long, whole, root = line(a.dtype, 4), c_int(), c_int64(), a.clone(), copied(b)
    pair, more = ((1,), (root, 6)) if paired else ((), ())
    within = (*bounds, *asked[1:], byref(count), w)
    assert (
        run(
            f"{symmetric(kind)}{'gv' if paired else 'ev'}dx",
            *pair,
            VECTORS,
            asked[0],
            LOWER,
            4,
            a,
            6,
            *more,
            *within,
        )
        == 0
    )
    vectors, expected = a[:, : count.value], values[RANGES[asked]]
    close(w[: count.value], expected)
    close(whole @ vectors, b @ vectors * w[: count.value])
    if not paired:
        wide, within = (
            copied(whole),
            (*map(byref, bounds), *asked[1:], byref(long), TYPES[w.dtype], w.zero_()),
        )
        assert run_wide("Xsyevdx", VECTORS, asked[0], LOWER, 4, of, wide, 6, *within, of) == 0
        assert long.value == count.value
        close(w[: count.value], expected)


@each_kind
@each_triangle
@pytest.mark.parametrize("which", [1, 2, 3])
def test_eigenvalues_of_a_pair(kind, fill, which):
    name, params, told = f"{symmetric(kind)}gv", made("CreateSyevjInfo"), c_double(1)
    a, b = positive(4, KINDS[kind]), positive(4, KINDS[kind])
    before, root, w, values = a.clone(), b.clone(), line(a.dtype, 4), line(a.dtype, 4)
    found = copied(a)
    assert run(f"{name}d", which, VECTORS, fill, 4, a, 6, b, 6, w) == 0
    left, right = {1: (before, root), 2: (before @ root, None), 3: (root @ before, None)}[which]
    close(left @ a, (a if right is None else right @ a) * w)
    close(triangle(b, fill), torch.linalg.cholesky(root, upper=bool(fill)))
    b.copy_(root)
    assert run(f"{name}j", which, VALUES, fill, 4, found, 6, b, 6, values, then=(params,)) == 0
    close(values, w)
    assert raw("XsyevjGetResidual", params, byref(told)) == 0
    assert told.value < 1e-2
    b.copy_(-root)
    assert run(f"{name}d", which, VECTORS, fill, 4, a, 6, b, 6, w) == 4 + 1


@each_kind
@pytest.mark.parametrize("is_complex", [True, False])
def test_eigenvalues_of_any_matrix(kind, is_complex):
    a, right = matrix(5, 5, KINDS[kind]), matrix(5, 5, KINDS[kind])
    a[:2, :2] = torch.tensor([[0, 9], [-9, 0]])  # a pair of complex values
    of, before, w = TYPES[a.dtype], a.clone(), torch.zeros(5, dtype=a.dtype).cuda()
    wide = is_complex or a.is_complex()
    w = torch.zeros(5, dtype=a.dtype.to_complex()).cuda() if wide else line(a.dtype, 10)
    arguments = (5, of, a, 7, TYPES[w.dtype], w, of, None, 5, of, right, 7, of)
    assert run_wide("Xgeev", VALUES, VECTORS, *arguments) == 0
    w = w if wide else torch.complex(w[:5], w[5:])
    vectors = right.to(w.dtype)
    for i in range(5 if not a.is_complex() else 0):
        if w[i].imag > 0:
            vectors[:, i], vectors[:, i + 1] = (
                torch.complex(right[:, i], right[:, i + 1]),
                torch.complex(right[:, i], -right[:, i + 1]),
            )
    close(before.to(w.dtype) @ vectors, vectors * w)
    assert raw("Xgeev", None, VECTORS, VECTORS, *arguments, None, 0, None, 0, right) == NOT_SUPPORTED

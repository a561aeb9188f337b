"""cuSPARSE in an extension: every number is compared with torch's dense ones."""

import pytest
import torch

from tests.kernels.extensions.device.corpus import call

CSR, CSC, COO, BLOCKED_ELL, BSR, SLICED_ELL = 1, 2, 3, 5, 6, 7
CODES = {
    torch.float32: 0,
    torch.float64: 1,
    torch.float16: 2,
    torch.int8: 3,
    torch.complex64: 4,
    torch.complex128: 5,
    torch.int32: 10,
    torch.bfloat16: 14,
}
TYPES = torch.float32, torch.float64, torch.complex64, torch.complex128
NOT_INITIALIZED, INVALID_VALUE, NOT_SUPPORTED, ZERO_PIVOT = 1, 3, 10, 9


def dense(rows, columns, dtype=torch.float32, held=0.4):
    generator = torch.Generator().manual_seed(3)
    numbers = torch.randint(-4, 5, (rows, columns), generator=generator)
    if dtype.is_complex:
        numbers = torch.complex(numbers.double(), numbers.flip(0).double())
    return (numbers * (torch.rand(rows, columns, generator=generator) < held)).to(dtype)


def ints(values, dtype=torch.int32):
    return values.to(dtype).cuda()


def offsets_of(held):
    """Return where each row's part begins, of a mask of what is held."""
    return torch.cat([torch.zeros(1), held.sum(1).cumsum(0)])


def csr(matrix, base=0):
    held = matrix != 0
    return ints(offsets_of(held) + base), ints(held.nonzero()[:, 1] + base), matrix[held].cuda()


def stored(matrix, how, base=0):
    """Return the two arrays of indices, and the numbers, of a matrix in a format."""
    rows, columns = matrix.shape
    if how in (CSR, CSC):
        return csr(matrix if how == CSR else matrix.T.contiguous(), base)
    if how == COO:
        sparse = matrix.to_sparse()
        wide = [ints(each + base, torch.int64) for each in sparse.indices()]
        return *wide, sparse.values().cuda()
    blocks = matrix.view(rows // 2, 2, columns // 2, 2).transpose(1, 2)
    if how == BSR:
        held = (blocks != 0).flatten(2).any(2)
        return ints(offsets_of(held) + base), ints(held.nonzero()[:, 1] + base), blocks[held].cuda()
    if how == BLOCKED_ELL:  # the first and the last block of each row
        chosen = torch.tensor([[0, columns // 2 - 1]] * (rows // 2))
        return (
            ints(torch.zeros(1)),
            ints(chosen + base),
            blocks[:, [0, -1]].transpose(1, 2).contiguous().cuda(),
        )
    width = columns  # each slice holds every column, the last of them to fill it up
    indices = torch.arange(columns).repeat_interleave(2).repeat(rows // 2)
    numbers = matrix.view(rows // 2, 2, columns).transpose(1, 2).reshape(-1)
    indices = torch.where(numbers == 0, -1 - base, indices)
    offsets = torch.arange(rows // 2 + 1) * 2 * width
    return ints(offsets + base), ints(indices + base), numbers.cuda()


def operated(matrix, op):
    return (matrix, matrix.mT, matrix.mH)[op]


def scalar(value, dtype):
    return torch.tensor([value], dtype=dtype)


@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("how", [CSR, CSC, COO, BSR, BLOCKED_ELL, SLICED_ELL])
def test_formats_times_vectors(how, base):
    a = dense(6, 8)
    if how == BLOCKED_ELL:
        a[:, 2:6] = 0
    outer, inner, values = stored(a, how, base)
    blocks = values.numel() // 4 if how == BSR else values.numel()
    for op in (0, 1):
        x, y = dense(8 if op == 0 else 6, 1, held=1).cuda(), dense(6 if op == 0 else 8, 1, held=1).cuda()
        expected = 2 * operated(a, op) @ x.cpu() + 3 * y.cpu()
        given = (how, base, op, 6, 8, blocks, outer, inner, values, 0, x, 0, y, 0, 0)
        assert call("sparse", "multiply_vector", *given, scalar(2, a.dtype), scalar(3, a.dtype)) == 0
        torch.testing.assert_close(y.cpu(), expected)


@pytest.mark.parametrize(
    ("of_a", "of_x", "of_y", "compute"),
    [
        *((each,) * 4 for each in TYPES),
        (torch.int8, torch.int8, torch.int32, torch.int32),
        (torch.int8, torch.int8, torch.float32, torch.float32),
        (torch.float16, torch.float16, torch.float32, torch.float32),
        (torch.bfloat16, torch.bfloat16, torch.bfloat16, torch.float32),
        (torch.float32, torch.complex64, torch.complex64, torch.complex64),
    ],
)
def test_types_times_vectors(of_a, of_x, of_y, compute):
    a, x = dense(5, 7, of_a), dense(7, 1, of_x, held=1)
    y = torch.full((5, 1), float("nan") if of_y.is_floating_point else 9, dtype=of_y).cuda()
    numbers = *csr(a), CODES[of_a], x.cuda(), CODES[of_x], y, CODES[of_y], CODES[compute]
    zero = scalar(0, compute)
    assert (
        call(
            "sparse",
            "multiply_vector",
            CSR,
            0,
            0,
            5,
            7,
            numbers[2].numel(),
            *numbers,
            scalar(2, compute),
            zero,
        )
        == 0
    )
    wide = torch.complex128 if of_x.is_complex else torch.float64
    torch.testing.assert_close(y.cpu(), (2 * a.to(wide) @ x.to(wide)).to(of_y))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("ops", [(0, 0), (1, 1), (2, 2)])
def test_matrices(dtype, ops):
    a, b = dense(4, 6, dtype), torch.stack([dense(6, 5, dtype, 1), dense(6, 5, dtype, 0.5)])
    expected = (2 * a @ b - 1).mT.cpu()
    given, right = (
        operated(a, ops[0]).resolve_conj().contiguous(),
        operated(b, ops[1]).resolve_conj().contiguous(),
    )
    c = torch.ones(2, 5, 4, dtype=dtype).cuda()
    sparse = csr(given)
    numbers = (4, 5, 6, sparse[2].numel(), *sparse, right.cuda(), c, CODES[dtype], 2)
    assert call("sparse", "multiply_matrix", *ops, *numbers, scalar(2, dtype), scalar(-1, dtype)) == 0
    torch.testing.assert_close(c.cpu(), expected)


@pytest.mark.parametrize("dtype", TYPES)
def test_sampled(dtype):
    c, a, b = dense(5, 7, dtype), dense(5, 3, dtype, 1), dense(7, 3, dtype, 1)
    offsets, indices, values = csr(c)
    expected = torch.where(c != 0, 2 * a @ b.mT + 3 * c, 0)
    factors = scalar(2, dtype), scalar(3, dtype)
    numbers = (offsets, indices, values, a.cuda(), b.cuda(), CODES[dtype])
    assert call("sparse", "sample", 5, 7, 3, values.numel(), *numbers, *factors) == 0
    torch.testing.assert_close(values.cpu(), expected[c != 0])


@pytest.mark.parametrize("dtype", TYPES)
def test_sparse_times_sparse(dtype):
    a, b = dense(4, 6, dtype), dense(6, 5, dtype)
    a[0], b[:, 0] = 0, 0
    a[0, :2], b[:2, 0] = torch.tensor([1, -1]), torch.tensor([1, 1])  # their sum is 0, and is held
    offsets, indices, values = (
        ints(torch.zeros(5)),
        ints(torch.zeros(20)),
        torch.zeros(20, dtype=dtype).cuda(),
    )
    count = torch.zeros(1, dtype=torch.int64)
    left, right = csr(a), csr(b)
    numbers = (4, 5, 6, left[2].numel(), right[2].numel(), *left, *right, offsets, indices, values)
    assert call("sparse", "multiply_sparse", *numbers, CODES[dtype], scalar(2, dtype), count) == 0
    held = ((a != 0).double() @ (b != 0).double()) > 0
    assert count.item() == held.sum()
    assert torch.equal(offsets.cpu()[1:], held.sum(1).cumsum(0).int())
    assert torch.equal(indices.cpu()[: count.item()], held.nonzero()[:, 1].int())
    torch.testing.assert_close(values.cpu()[: count.item()], (2 * a @ b)[held])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", [0, 1, 2])
@pytest.mark.parametrize(("is_upper", "is_unit", "width"), [(0, 0, 1), (1, 1, 3), (0, 1, 3), (1, 0, 1)])
def test_triangles(dtype, op, is_upper, is_unit, width):
    a = dense(6, 6, dtype, 0.7) / 8
    a.diagonal().fill_(2)
    b = dense(6, width, dtype, 1)
    x = torch.zeros_like(b).cuda()
    triangle = operated(a.triu() if is_upper else a.tril(), op)
    expected = torch.linalg.solve_triangular(
        triangle, 2 * b, upper=bool(is_upper) != bool(op), unitriangular=bool(is_unit)
    )
    sparse = csr(a)
    numbers = (6, width, sparse[2].numel(), *sparse, b.cuda(), x, CODES[dtype], scalar(2, dtype))
    assert call("sparse", "solve", op, is_upper, is_unit, *numbers) == 0
    torch.testing.assert_close(x.cpu(), expected)


@pytest.mark.parametrize("how", [CSR, CSC, COO, BSR, BLOCKED_ELL])
def test_conversions(how):
    a = dense(6, 8)
    if how == BLOCKED_ELL:
        a[:, 2:6] = 0
    expected = stored(a, how)
    is_given = how in (BSR, BLOCKED_ELL)
    outer, inner = (each if is_given else torch.zeros_like(each) for each in expected[:2])
    values, again = torch.zeros_like(expected[2]), torch.zeros(8, 6).cuda()
    count = values.numel() // 4 if how == BSR else values.numel()
    assert call("sparse", "convert", how, 6, 8, count, a.cuda(), outer, inner, values, again, 0) == 0
    for got, wanted in zip((outer, inner, values), expected, strict=True):
        assert torch.equal(got, wanted)
    assert torch.equal(again.T.cpu(), a)


@pytest.mark.parametrize("dtype", TYPES)
def test_vectors(dtype):
    places, y = torch.tensor([1, 4, 6]), dense(8, 1, dtype, 1).flatten()
    x, on_device = dense(3, 1, dtype, 1).flatten(), y.cuda()
    taken, result, mine = torch.zeros(3, dtype=dtype).cuda(), torch.zeros(1, dtype=dtype).cuda(), x.cuda()
    factors = scalar(2, dtype), scalar(3, dtype)
    assert (
        call("sparse", "vectors", 8, 3, ints(places), mine, on_device, taken, result, CODES[dtype], *factors)
        == 0
    )
    y = y * 3
    y[places] += 2 * x
    torch.testing.assert_close(taken.cpu(), y[places])
    torch.testing.assert_close(result.cpu(), (x.conj() * y[places]).sum().reshape(1))
    torch.testing.assert_close(mine.cpu(), 2 * x + 3 * y[places])
    y[places] = mine.cpu()
    torch.testing.assert_close(on_device.cpu(), y)


@pytest.mark.parametrize("by_columns", [0, 1])
def test_sorts(by_columns):
    order = torch.randperm(12, generator=torch.Generator().manual_seed(1))
    places = dense(6, 6).to_sparse().indices()[:, :12][:, order]
    rows, columns, permutation, again = ints(places[0]), ints(places[1]), ints(order * 0), ints(order * 0)
    offsets = ints(torch.zeros(7))
    assert call("sparse", "sort", by_columns, 6, 12, rows, columns, permutation, offsets, again) == 0
    first, second = (places[1], places[0]) if by_columns else (places[0], places[1])
    expected = torch.argsort(first * 6 + second)
    assert torch.equal(permutation.cpu().long(), expected)
    assert torch.equal(torch.stack([rows, columns]).cpu().long(), places[:, expected])
    if not by_columns:
        assert torch.equal(again, rows)


def test_sums():
    a, b, dtype = dense(5, 7, torch.float64), dense(7, 5, torch.float64).T.contiguous(), torch.float64
    held = (a != 0) | (b != 0)
    offsets, columns, values = (
        ints(torch.zeros(6)),
        ints(torch.zeros(35)),
        torch.zeros(35, dtype=dtype).cuda(),
    )
    count, left, right = torch.zeros(1, dtype=torch.int32), csr(a), csr(b)
    numbers = (5, 7, left[2].numel(), right[2].numel(), *left, *right, offsets, columns, values)
    assert call("sparse", "add", *numbers, scalar(2, dtype), scalar(-3, dtype), count) == 0
    assert count.item() == held.sum()
    assert torch.equal(offsets.cpu(), offsets_of(held).int() + 1)
    assert torch.equal(columns.cpu()[: count.item()], held.nonzero()[:, 1].int() + 1)
    torch.testing.assert_close(values.cpu()[: count.item()], (2 * a - 3 * b)[held])


def test_rows_to_columns():
    a = dense(5, 7)
    given, expected = csr(a), csr(a.T.contiguous())
    offsets, rows, values = (torch.zeros_like(each) for each in expected)
    numbers = (given[2].numel(), given[2], *given[:2], values, offsets, rows, 0)
    assert call("sparse", "turn", 5, 7, *numbers) == 0
    for got, wanted in zip((offsets, rows, values), expected, strict=True):
        assert torch.equal(got, wanted)


@pytest.mark.parametrize(("letter", "dtype"), [*zip("SDCZ", TYPES, strict=True)])
@pytest.mark.parametrize("is_symmetric", [0, 1])
def test_factors_of_a_full_pattern_are_the_whole_ones(letter, dtype, is_symmetric):
    a = dense(5, 5, dtype, 1).double() if not dtype.is_complex else dense(5, 5, dtype, 1).to(torch.complex128)
    a = a @ a.mH + 9 * torch.eye(5)
    offsets, columns = ints(torch.arange(6) * 5), ints(torch.arange(5).repeat(5))
    values, pivot = a.to(dtype).flatten().cuda(), ints(torch.zeros(1))
    assert call("sparse", f"factor_{letter}", is_symmetric, 5, 25, values, offsets, columns, pivot) == 0
    assert pivot.item() == -1
    got = values.cpu().view(5, 5).to(a.dtype)
    lower = got.tril() if is_symmetric else got.tril(-1) + torch.eye(5)
    torch.testing.assert_close(lower @ (lower.mH if is_symmetric else got.triu()), a, rtol=1e-4, atol=1e-4)


def test_a_zero_pivot_is_told():
    a = torch.tensor([[2.0, 1.0], [4.0, 2.0]])
    pivot = ints(torch.zeros(1))
    offsets, columns, values = csr(a)
    assert call("sparse", "factor_S", 0, 2, 4, values, offsets, columns, pivot) == ZERO_PIVOT
    assert pivot.item() == 1


def test_wrong_calls_say_so():
    a, x, y = csr(dense(5, 7)), torch.ones(7).cuda(), torch.ones(5).cuda()
    one = scalar(1, torch.float32)
    assert call("sparse", "without_handle", x) == NOT_INITIALIZED
    given = (a[2].numel(), *a)
    assert (
        call("sparse", "multiply_vector", CSR, 0, 0, 5, 7, *given, 0, x, 1, y, 0, 0, one, one)
        == NOT_SUPPORTED
    )
    assert (
        call("sparse", "multiply_vector", CSR, 0, 0, -5, 7, *given, 0, x, 0, y, 0, 0, one, one)
        == INVALID_VALUE
    )

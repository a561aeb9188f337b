"""cuBLAS in an extension, compared with torch: column-major matrices inside of larger ones."""

import ctypes

import pytest
import torch

from tests.kernels.extensions.device.corpus import call, captured, library

NORMAL, TRANSPOSED, ADJOINT = 0, 1, 2
KINDS = {"S": torch.float32, "D": torch.float64, "H": torch.float16, "Z": torch.complex128}
MIXED = {  # by the types of the factors and of the result: CUDA's numbers, and how the products are computed
    (torch.float32, torch.float32): (0, 0, 68),
    (torch.float64, torch.float64): (1, 1, 70),
    (torch.float16, torch.float16): (2, 2, 77),
    (torch.float16, torch.float32): (2, 0, 68),
    (torch.bfloat16, torch.bfloat16): (14, 14, 75),
    (torch.bfloat16, torch.float32): (14, 0, 68),
    (torch.int8, torch.int32): (3, 10, 72),
}
SUPPORTED, INVALID, NOT_SUPPORTED = 0, 7, 15


def matrix(rows, columns, dtype=torch.float64, *, transposed=False):
    """Return a matrix as a product takes it; its columns lie two numbers farther apart than they must."""
    if transposed:
        return matrix(columns, rows, dtype).mT
    numbers = torch.randint(-4, 5, (columns, rows + 2)) if dtype == torch.int8 else None
    values = torch.randn(columns, rows + 2, dtype=torch.float64) if numbers is None else numbers
    return values.to(dtype).cuda().mT[:rows]


def leading(values):
    return max(values.stride())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ops", [(NORMAL, NORMAL), (TRANSPOSED, NORMAL), (NORMAL, ADJOINT)])
def test_products(kind, ops):
    dtype = KINDS[kind]
    a, b = matrix(5, 4, dtype, transposed=ops[0] > 0), matrix(4, 3, dtype, transposed=ops[1] > 0)
    c, factors = matrix(5, 3, dtype), torch.tensor([0.5, 2], dtype=dtype)
    wide = torch.complex128 if dtype.is_complex else torch.float64
    right = b.conj() if ops[1] == ADJOINT else b
    expected = (0.5 * a.to(wide) @ right.to(wide) + 2 * c.to(wide)).to(dtype)
    sizes = (5, 3, 4, factors, a, leading(a), b, leading(b), c, leading(c))
    assert call("blas", "multiply", ord(kind), *ops, *sizes) == SUPPORTED
    torch.testing.assert_close(c, expected)


@pytest.mark.parametrize("types", MIXED, ids=str)
def test_products_of_each_type(types):
    kinds = MIXED[types]
    a, b, c = matrix(6, 5, types[0]), matrix(5, 7, types[0]), torch.full((7, 6), 3, dtype=types[1]).cuda().mT
    factors = torch.tensor([2, 1], dtype={70: torch.float64, 72: torch.int32}.get(kinds[2], torch.float32))
    expected = (2 * (a.double() @ b.double()) + 3).to(types[1])
    operands = (6, 7, 5, factors, factors[1:], a, 8, b, 7, c, 6)
    assert call("blas", "multiply_mixed", *kinds, *operands) == SUPPORTED
    torch.testing.assert_close(c, expected)
    assert call("blas", "multiply_mixed", 14, 2, 68, *operands) == NOT_SUPPORTED


def test_a_factor_of_zero_reads_nothing():
    a, c = torch.full((4, 4), float("nan")).cuda(), torch.full((4, 4), float("nan")).cuda()
    sizes = (4, 4, 4, torch.zeros(2), a, 4, a, 4, c, 4)
    assert call("blas", "multiply", ord("S"), NORMAL, NORMAL, *sizes) == SUPPORTED
    assert torch.equal(c, torch.zeros(4, 4).cuda())


def test_a_product_that_does_not_fit_is_refused():
    a = torch.zeros(4, 4).cuda()
    assert (
        call("blas", "multiply", ord("S"), NORMAL, NORMAL, 4, 4, 4, torch.ones(2), a, 3, a, 4, a, 4)
        == INVALID
    )
    text = library("blas").text
    text.restype = ctypes.c_char_p
    assert text(INVALID) == b"CUBLAS_STATUS_INVALID_VALUE"


def test_batches():
    a, b = torch.randn(3, 4, 4).cuda(), torch.randn(3, 4, 4).cuda()
    results = torch.full((2, 3, 4, 4), float("nan")).cuda()
    assert call("blas", "multiply_batches", 4, 3, a, b, results[0], results[1]) == SUPPORTED
    torch.testing.assert_close(results, torch.stack([(a.mT @ b).mT] * 2))


@pytest.mark.parametrize("step", [1, 3, -2])
def test_a_matrix_and_vectors(step):
    a, x, y = matrix(5, 4), torch.randn(20).double().cuda(), torch.randn(20).double().cuda()
    of = x[: 5 * abs(step) : abs(step)], y[: 4 * abs(step) : abs(step)]
    there = [each.flip(0) if step < 0 else each for each in of]
    product, outer = 0.5 * a.mT @ there[0] + 2 * there[1], a + 0.5 * torch.outer(*there)
    assert call("blas", "add_outer", 5, 4, x, step, y, step, a, 7) == SUPPORTED
    torch.testing.assert_close(a, outer)
    a -= 0.5 * torch.outer(*there)
    assert call("blas", "multiply_vector", TRANSPOSED, 5, 4, a, 7, x, step, y, step) == SUPPORTED
    torch.testing.assert_close(of[1], product.flip(0) if step < 0 else product)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("fill", [0, 1])
@pytest.mark.parametrize("op", [NORMAL, TRANSPOSED])
@pytest.mark.parametrize("diagonal", [0, 1])
def test_triangles(side, fill, op, diagonal):
    size = 3 if side else 5
    a, b = matrix(size, size), matrix(5, 3)
    a.diagonal().add_(5)
    triangle = a.triu() if fill else a.tril()
    if diagonal:
        triangle = triangle - triangle.diag().diag() + torch.eye(size).cuda()
    triangle, right = triangle.mT if op else triangle, 0.5 * b
    assert call("blas", "solve", side, fill, op, diagonal, 5, 3, a, size + 2, b, 7) == SUPPORTED
    torch.testing.assert_close(b @ triangle if side else triangle @ b, right)


def test_sums_of_matrices():
    a, b, c = matrix(5, 4, transposed=True), matrix(5, 4), matrix(5, 4)
    assert call("blas", "add_matrices", TRANSPOSED, NORMAL, 5, 4, a, leading(a), b, 7, c, 7) == SUPPORTED
    torch.testing.assert_close(c, 0.5 * a + 2 * b)
    expected = 0.5 * c + 2 * b
    assert call("blas", "add_matrices", NORMAL, NORMAL, 5, 4, c, 7, b, 7, c, 7) == SUPPORTED
    torch.testing.assert_close(c, expected)


@pytest.mark.parametrize("side", [0, 1])
def test_a_factor_for_each_row_or_column(side):
    a, c, x = matrix(5, 4), matrix(5, 4), torch.randn(10).double().cuda()
    factors = x[:8:2] if side else x[::2]
    assert call("blas", "scale_each", side, 5, 4, a, 7, x, 2, c, 7) == SUPPORTED
    torch.testing.assert_close(c, a * (factors if side else factors[:, None]))


def test_vectors():
    x, y, z = torch.randn(30).cuda(), torch.randn(20).cuda(), torch.zeros(10).cuda()
    results, places = torch.zeros(3).cuda(), torch.zeros(2, dtype=torch.int32).cuda()
    a, b = x[::3], y[::2]
    assert call("blas", "reduce", 10, x, 3, y, 2, results, places) == SUPPORTED
    torch.testing.assert_close(results, torch.stack([a @ b, a.norm(), a.abs().sum()]))
    assert places.tolist() == [1 + int(a.abs().argmax()), 1 + int(a.abs().argmin())]
    expected = b + 2 * a, 3 * a
    assert call("blas", "update", 10, x, 3, y, 2, z) == SUPPORTED
    torch.testing.assert_close((a, b, z), (expected[0], expected[1], expected[1]))


def test_handles():
    found = torch.zeros(3, dtype=torch.int32)
    assert call("blas", "handles", found) == SUPPORTED
    assert found.tolist() == [5, 2, 0]


def test_autocast_does_not_reach_a_librarys_product():
    a, c = torch.randn(8, 8).cuda(), torch.zeros(8, 8).cuda()
    sizes = (8, 8, 8, torch.tensor([1.0, 0]), a, 8, a, 8, c, 8)
    with torch.autocast("cpu"), torch.autocast("cuda"):
        assert call("blas", "multiply", ord("S"), NORMAL, NORMAL, *sizes) == SUPPORTED
    torch.testing.assert_close(c.mT, a.mT @ a.mT)


def test_a_graph_refuses_a_call_that_it_would_not_hold():
    a = torch.zeros(4, 4).cuda()
    sizes = (4, 4, 4, torch.ones(2), a, 4, a, 4, a, 4)
    refused = captured(call, "blas", "multiply", ord("S"), NORMAL, NORMAL, *sizes)
    assert refused == 13  # CUBLAS_STATUS_EXECUTION_FAILED


EPILOGUES = {
    1: lambda sums, bias: sums,
    4: lambda sums, bias: sums + bias,
    6: lambda sums, bias: (sums + bias).relu(),
    36: lambda sums, bias: torch.nn.functional.gelu(sums + bias, approximate="tanh"),
}


@pytest.mark.parametrize("epilogue", EPILOGUES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_product_and_what_follows_by_cublaslt(dtype, epilogue):
    left, right, before, bias = (torch.randn(*shape).to(dtype) for shape in ((5, 16), (7, 16), (5, 7), (5,)))
    whole, sums = before.cuda(), left.double() @ right.double().T * 0.5 + before.double() * 2
    factors = torch.tensor([0.5, 2.0])
    kind = {torch.float32: 0, torch.bfloat16: 14}[dtype]
    pointers = [left.cuda(), right.cuda(), whole, bias.cuda()]
    a, b, d, of_bias = pointers
    status = call(
        "blas",
        "multiply_lt",
        kind,
        kind,
        68,
        0,
        5,
        7,
        16,
        factors[:1],
        a,
        b,
        factors[1:],
        d,
        epilogue,
        of_bias,
        0,
    )
    assert status == SUPPORTED
    expected = EPILOGUES[epilogue](sums, bias.double()[:, None]).to(dtype)
    torch.testing.assert_close(whole.cpu(), expected)


@pytest.mark.parametrize(("epilogue", "pointers"), [(138, 0), (8, 0), (1, 2)])
def test_what_cublaslt_does_besides_is_not_supported(epilogue, pointers):
    numbers, factors = torch.ones(4, 4, device="cuda"), torch.ones(2)
    status = call(
        *("blas", "multiply_lt", 0, 0, 68, 0, 4, 4, 4, factors, numbers, numbers, factors, numbers),
        *(epilogue, numbers, pointers),
    )
    assert status == NOT_SUPPORTED
    assert torch.equal(numbers, torch.ones(4, 4, device="cuda"))


LEADING = 128  # of what is kept: for bits it must be a multiple


class Products:
    """A B of a batch in columns, and what an epilogue is given; all in double besides."""

    def __init__(self, dtype, batch):
        self.dtype, self.batch, self.kind = dtype, batch, {torch.float32: 0, torch.bfloat16: 14}[dtype]
        a, b, bias = torch.randn(batch, 4, 11), torch.randn(batch, 6, 4), torch.randn(batch, 11)
        self.a, self.b, self.bias = (each.to(dtype) for each in (a, b, bias))  # columns first
        self.kept = torch.full((batch, 6, LEADING), 7.0, dtype=dtype, device="cuda")
        self.sums = self.b.double() @ self.a.double()

    def run(self, epilogue, bias, kept, bias_type=None):
        out = torch.zeros(self.batch, 6, 11, dtype=self.dtype, device="cuda")
        sizes = (self.kind, 11, 6, 4, self.batch, self.a.cuda(), self.b.cuda(), out, epilogue)
        of_bias = self.kind if bias_type is None else bias_type
        arguments = (bias, of_bias, bias.shape[-1], kept, LEADING, LEADING * 6)
        assert call("blas", "multiply_with", *sizes, *arguments) == SUPPORTED
        return out.cpu().double()


def gelu(x):
    return torch.nn.functional.gelu(x, approximate="tanh")


def close(dtype):
    return {"rtol": 1.6e-2, "atol": 2e-2} if dtype == torch.bfloat16 else {"rtol": 1e-5, "atol": 1e-5}


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gelu_keeps_its_input_and_goes_back_by_cublaslt(dtype, batch):
    of = Products(dtype, batch)
    before = of.sums + of.bias.double()[:, None]
    torch.testing.assert_close(of.run(164, of.bias.cuda(), of.kept), gelu(before), **close(dtype))
    torch.testing.assert_close(of.kept[..., :11].cpu().double(), before, **close(dtype))
    assert of.kept[..., 11:].eq(7).all()
    kept = of.kept[..., :11].cpu().double().requires_grad_()
    gelu(kept).backward(of.sums)
    of_bias = torch.zeros(batch, 11, device="cuda")
    torch.testing.assert_close(of.run(192, of_bias, of.kept), kept.grad, **close(dtype))
    torch.testing.assert_close(of.run(208, of_bias, of.kept, 0), kept.grad, **close(dtype))
    torch.testing.assert_close(of_bias.cpu().double(), kept.grad.sum(1), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(of.run(160, of_bias, of.kept), gelu(of.sums), **close(dtype))


@pytest.mark.parametrize("batch", [1, 3])
def test_relu_keeps_bits_and_goes_back_by_cublaslt(batch):
    of = Products(torch.float32, batch)
    bits = torch.zeros(batch, 6, LEADING // 8, dtype=torch.uint8, device="cuda")
    before = of.sums + of.bias.double()[:, None]
    torch.testing.assert_close(of.run(134, of.bias.cuda(), bits), before.relu(), **close(torch.float32))
    words = bits.cpu()[..., :2].int()
    found = torch.stack([words[..., row // 8] >> row % 8 & 1 for row in range(11)], -1)
    assert torch.equal(found.bool(), before > 0)
    of_bias, expected = torch.zeros(batch, 11, device="cuda"), of.sums * (before > 0)
    torch.testing.assert_close(of.run(136, of_bias, bits), expected, **close(torch.float32))
    torch.testing.assert_close(of.run(152, of_bias, bits), expected, **close(torch.float32))
    torch.testing.assert_close(of_bias.cpu().double(), expected.sum(1), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(of.run(130, of_bias, bits), of.sums.relu(), **close(torch.float32))


@pytest.mark.parametrize(("epilogue", "size"), [(256, 11), (512, 6)])
def test_a_bias_gradient_of_a_factor_by_cublaslt(epilogue, size):
    of = Products(torch.bfloat16, 1)
    found = torch.zeros(1, size, device="cuda")
    torch.testing.assert_close(of.run(epilogue, found, of.kept, 0), of.sums, **close(torch.bfloat16))
    expected = of.a.double().sum(1) if epilogue == 256 else of.b.double().sum(2)
    torch.testing.assert_close(found.cpu().double(), expected, rtol=1e-5, atol=1e-5)


def test_whole_numbers_with_a_factor_for_each_row_by_cublaslt():
    left, right = (torch.randint(-9, 9, (rows, 32), dtype=torch.int8) for rows in (4, 8))
    factors, out = torch.rand(4).cuda(), torch.zeros(4, 8, dtype=torch.int8, device="cuda")
    arguments = [factors, left.cuda(), right.cuda(), torch.zeros(1), out, 1, torch.zeros(1), 3]
    assert call("blas", "multiply_lt", 3, 3, 72, 0, 4, 8, 32, *arguments) == SUPPORTED
    sums = (left.double() @ right.double().T) * factors.cpu().double()[:, None]
    assert torch.equal(out.cpu(), sums.round().clamp(-128, 127).to(torch.int8))
    whole, one = torch.zeros(4, 8, dtype=torch.int32, device="cuda"), torch.tensor([1, 0], dtype=torch.int32)
    arguments = [one[:1], left.cuda(), right.cuda(), one[1:], whole, 1, torch.zeros(1), 0]
    assert call("blas", "multiply_lt", 3, 10, 72, 10, 4, 8, 32, *arguments) == SUPPORTED
    assert torch.equal(whole.cpu().long(), left.long() @ right.long().T)

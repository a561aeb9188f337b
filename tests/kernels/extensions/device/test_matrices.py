"""Products on tensor cores, by the layouts that the PTX ISA draws, compared with torch's in float64."""

import pytest
import torch

from tests.kernels.extensions.device.corpus import call, cuda

# By the kernel's number: rows' depth, the bits of an element, and how the elements of both factors are drawn
FLOATS = {
    "bfloat16": (0, 16, torch.bfloat16),
    "bfloat16, k8": (1, 8, torch.bfloat16),
    "tf32": (2, 8, torch.float32),
}
INTEGERS = {
    "int8": (3, 32, 8, (-128, 128), (-128, 128)),
    "uint8 by int8": (4, 16, 8, (0, 256), (-128, 128)),
    "int4": (5, 64, 4, (-8, 8), (-8, 8)),
}


def fragments(matrix, bits):
    """Return the registers of each lane of a factor's rows, as 32-bit integers: lanes by registers."""
    together, (rows, depth) = 32 // bits, matrix.shape
    words = torch.zeros(rows, depth // together, dtype=torch.int64)
    for place in range(together):
        words |= (matrix[:, place::together].long() & (1 << bits) - 1) << place * bits
    parts = words.view(rows // 8, 8, -1, 4)  # which half of the rows, g, register, t
    registers = parts.permute(1, 3, 2, 0).reshape(32, -1)
    return (registers - (registers >> 31 << 32)).int()


def padded(registers, count):
    whole = torch.zeros(32, count, dtype=torch.int32)
    whole[:, : registers.shape[1]] = registers
    return whole.cuda()


def result_of(registers):
    """Return the (16, 8) matrix of the lanes' four numbers."""
    return registers.cpu().view(8, 4, 2, 2).permute(2, 0, 1, 3).reshape(16, 8)


def codes_of(matrix):
    return matrix.view({2: torch.int16, 4: torch.int32}[matrix.element_size()])


def drawn(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize("name", FLOATS)
def test_floating_point_numbers(name):
    which, depth, dtype = FLOATS[name]
    left, right = drawn(16, depth).to(dtype), drawn(8, depth).to(dtype)
    if dtype == torch.float32:  # 13 bits that tensor cores do not read
        left, right = (codes_of(each).bitwise_and(-8192).view(dtype) for each in (left, right))
    sums = torch.zeros(32, 4, device="cuda")
    bits = 8 * left.element_size()
    pair = padded(fragments(codes_of(left), bits), 4), padded(fragments(codes_of(right), bits), 2)
    call("matrices", "launch_fragments", which, *pair, sums)
    assert torch.equal(result_of(sums), (left.double() @ right.double().T).float())


@pytest.mark.parametrize("name", INTEGERS)
def test_whole_numbers(name):
    which, depth, bits, *bounds = INTEGERS[name]
    generator = torch.Generator().manual_seed(bits)
    left, right = (
        torch.randint(*each, (rows, depth), generator=generator)
        for each, rows in zip(bounds, (16, 8), strict=True)
    )
    sums = torch.ones(32, 4, device="cuda", dtype=torch.int32)
    call(
        "matrices",
        "launch_fragments",
        which,
        padded(fragments(left, bits), 4),
        padded(fragments(right, bits), 2),
        sums,
    )
    assert torch.equal(result_of(sums).long(), left @ right.T + 1)


def test_sums_in_half_precision():
    left, right = drawn(16, 16).half(), drawn(8, 16).half()
    registers = torch.zeros(32, 4, device="cuda", dtype=torch.int32)
    pair = padded(fragments(codes_of(left), 16), 4), padded(fragments(codes_of(right), 16), 2)
    call("matrices", "launch_fragments", 6, *pair, registers)
    halves = registers[:, :2].contiguous().view(torch.float16).view(32, 4)
    assert torch.equal(result_of(halves), (left.double() @ right.double().T).half())


@pytest.mark.parametrize("layouts", range(4))
def test_products_of_quad_pairs(layouts):
    left, right, out = drawn(4, 8, 4).half(), drawn(4, 4, 8).half(), torch.empty(4, 8, 8, device="cuda")
    call("quad_pairs", "launch_single", layouts, left.cuda(), right.cuda(), out)
    assert torch.equal(out.cpu(), (left.double() @ right.double() + 1).float())


def test_products_of_quad_pairs_in_half_precision():
    left, right = drawn(4, 8, 4).half(), drawn(4, 4, 8).half()
    out = torch.empty(4, 8, 8, device="cuda", dtype=torch.float16)
    call("quad_pairs", "launch_halves", left.cuda(), right.cuda(), out)
    assert torch.equal(out.cpu(), (left.double() @ right.double()).half())


def test_numbers_of_eight_bits():
    left, right = drawn(16, 32).to(torch.float8_e4m3fn), drawn(8, 32).to(torch.float8_e5m2)
    sums = torch.zeros(32, 4, device="cuda")
    pair = (fragments(each.view(torch.uint8), 8) for each in (left, right))
    call("matrices", "launch_fragments", 7, *map(torch.Tensor.cuda, pair), sums)
    assert torch.equal(result_of(sums), (left.double() @ right.double().T).float())


def test_matrices_back_into_shared_memory():
    values, out = cuda(2, 8, 8, dtype=torch.float16), torch.empty(2, 8, 8, device="cuda", dtype=torch.float16)
    call("matrices", "launch_stored", values, out)
    assert torch.equal(out, torch.stack([values[0], values[1].T]))


def test_a_matrix_is_turned_in_registers():
    values = torch.arange(64, dtype=torch.int16).view(8, 8).cuda()
    out = torch.zeros_like(values)
    call("matrices", "launch_turned", values, out)
    assert torch.equal(out, values.T)


def test_double_precision():
    left, right = drawn(8, 4).double(), drawn(8, 4).double()
    sums = torch.zeros(32, 2, device="cuda", dtype=torch.float64)
    call("matrices", "launch_doubles", left.cuda(), right.cuda(), sums)
    torch.testing.assert_close(sums.cpu().view(8, 8), left @ right.T, rtol=1e-15, atol=1e-15)


def test_matrices_out_of_shared_memory():
    left, right = cuda(16, 16, dtype=torch.float16), cuda(16, 8, dtype=torch.float16)
    out = torch.empty(16, 8, device="cuda")
    call("matrices", "launch_halves", left, right, out)
    assert torch.equal(out.cpu(), (left.cpu().double() @ right.cpu().double() + 1).float())


@pytest.mark.parametrize(
    ("which", "rows", "columns", "kind", "of_sum"),
    [
        (0, 16, 16, torch.float16, torch.float32),
        (1, 8, 32, torch.float16, torch.float16),
        (2, 32, 8, torch.int8, torch.int32),
    ],
)
def test_fragments_of_wmma(which, rows, columns, kind, of_sum):
    left, right = ((4 * drawn(count, 16)).round().to(kind) for count in (rows, columns))
    out = torch.zeros(rows, columns, device="cuda", dtype=of_sum)
    call("matrices", "launch_wmma", which, left.cuda(), right.cuda(), out)
    assert torch.equal(out.cpu().double(), 3 * (left.double() @ right.double().T))

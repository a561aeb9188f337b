"""libnccl on the software device: two ranks in one process, against torch on the host."""

import ctypes
import functools
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p

import pytest
import torch

RANKS = 2
NUMBERS = {
    torch.int32: 2,
    torch.uint32: 3,
    torch.uint64: 5,
    torch.float16: 6,
    torch.float32: 7,
    torch.bfloat16: 9,
    torch.float8_e4m3fn: 10,
}
SUM, PRODUCT, MAX, MIN, AVERAGE = range(5)


@functools.cache
def nccl():
    library = ctypes.CDLL("libnccl.so.2")
    library.ncclGetErrorString.restype = c_char_p
    return library


@functools.cache
def communicators(library):
    handles = (c_void_p * RANKS)()
    assert library.ncclCommInitAll(handles, RANKS, None) == 0
    return [c_void_p(handle) for handle in handles]


def at(tensor):
    return c_void_p(tensor.data_ptr())


def grouped(library, call):
    assert library.ncclGroupStart() == 0
    assert [call(rank) for rank in range(RANKS)] == [0] * RANKS
    assert library.ncclGroupEnd() == 0


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("operation", range(5))
def test_all_reduce(operation, dtype):
    library = nccl()
    handles = communicators(library)
    host = [torch.tensor([1, 2, 3, 12]).to(dtype), torch.tensor([7, 2, 1, 10]).to(dtype)]
    if dtype == torch.uint64:
        host[1] = torch.tensor([-3, 2, 1, 10]).view(torch.uint64)
    own = [x.to(f"cuda:{rank}") for rank, x in enumerate(host)]
    size, kind = c_size_t(4), NUMBERS[dtype]
    grouped(
        library,
        lambda r: library.ncclAllReduce(at(own[r]), at(own[r]), size, kind, operation, handles[r], None),
    )
    a, b = (each.tolist() for each in host)
    exact = {
        SUM: [x + y for x, y in zip(a, b, strict=True)],
        PRODUCT: [x * y for x, y in zip(a, b, strict=True)],
        MAX: list(map(max, a, b)),
        MIN: list(map(min, a, b)),
        AVERAGE: [(x + y) / 2 for x, y in zip(a, b, strict=True)],
    }[operation]
    if not dtype.is_floating_point:
        if operation == AVERAGE:
            exact = [(x + y) // 2 for x, y in zip(a, b, strict=True)]
        exact = [x % (1 << 8 * dtype.itemsize) for x in exact]
    assert [r.cpu().tolist() for r in own] == [exact] * RANKS


@pytest.mark.parametrize(
    ("dtype", "operation", "value", "expected"),
    [
        (torch.float8_e4m3fn, SUM, 448, 448),  # the largest: eight bits end there
        (torch.float8_e5m2, SUM, -57344, -57344),
        (torch.float16, AVERAGE, 40000, 40000),  # of which the sum is none in this type
    ],
)
def test_large_values(dtype, operation, value, expected):
    library = nccl()
    handles = communicators(library)
    own = [torch.full((2,), float(value), device=f"cuda:{r}").to(dtype) for r in range(RANKS)]
    size, kind = c_size_t(2), {**NUMBERS, torch.float8_e5m2: 11}[dtype]
    grouped(
        library,
        lambda r: library.ncclAllReduce(at(own[r]), at(own[r]), size, kind, operation, handles[r], None),
    )
    assert [each.float().tolist() for each in own] == [[expected] * 2] * RANKS


@pytest.mark.parametrize(
    ("dtype", "factor", "values"),
    [
        (torch.int32, -3, (2**30, 7)),
        (torch.uint32, 2**31 + 5, (2**31, 9)),
        (torch.uint64, 2**63 + 2**54 + 1, (3, 2**40 + 1)),
    ],
)
def test_factors_of_integers_wrap_around(dtype, factor, values):
    library = nccl()
    handles = communicators(library)
    kind, operations = NUMBERS[dtype], [c_int(), c_int()]
    scalar = ctypes.c_uint64(factor & (2**64 - 1))
    for handle, operation in zip(handles, operations, strict=True):
        assert library.ncclRedOpCreatePreMulSum(byref(operation), byref(scalar), kind, 1, handle) == 0
    own = [torch.tensor([value], dtype=dtype).to(f"cuda:{rank}") for rank, value in enumerate(values)]
    size = c_size_t(1)
    grouped(
        library,
        lambda r: library.ncclAllReduce(at(own[r]), at(own[r]), size, kind, operations[r], handles[r], None),
    )
    exact = torch.tensor(factor * sum(values) % 2 ** (8 * dtype.itemsize), dtype=torch.uint64)
    assert [each.cpu().item() for each in own] == [exact.to(dtype).item()] * RANKS


def test_an_average_of_which_the_sum_wraps_around():
    library = nccl()
    handles = communicators(library)
    own = [torch.tensor([3 << 30], dtype=torch.uint32).to(f"cuda:{rank}") for rank in range(RANKS)]
    size = c_size_t(1)
    grouped(
        library,
        lambda r: library.ncclAllReduce(at(own[r]), at(own[r]), size, 3, AVERAGE, handles[r], None),
    )
    assert [each.cpu().item() for each in own] == [1 << 30] * RANKS


def test_what_each_collective_moves():
    library = nccl()
    handles = communicators(library)
    own = [torch.arange(4.0, device=f"cuda:{r}") + 10 * r for r in range(RANKS)]
    wide = [torch.zeros(8, device=f"cuda:{r}") for r in range(RANKS)]
    half = [torch.zeros(2, device=f"cuda:{r}") for r in range(RANKS)]
    four, two, kind = c_size_t(4), c_size_t(2), 7
    grouped(library, lambda r: library.ncclAllGather(at(own[r]), at(wide[r]), four, kind, handles[r], None))
    assert [w.tolist() for w in wide] == [[0, 1, 2, 3, 10, 11, 12, 13]] * 2
    grouped(
        library,
        lambda r: library.ncclReduceScatter(at(own[r]), at(half[r]), two, kind, SUM, handles[r], None),
    )
    assert [h.tolist() for h in half] == [[10, 12], [14, 16]]
    grouped(
        library,
        lambda r: library.ncclReduce(at(own[r]), at(wide[r]), four, kind, MAX, 1, handles[r], None),
    )
    assert [w[:4].tolist() for w in wide] == [[0, 1, 2, 3], [10, 11, 12, 13]]
    grouped(library, lambda r: library.ncclAlltoAll(at(own[r]), at(wide[r]), two, kind, handles[r], None))
    assert [w[:4].tolist() for w in wide] == [[0, 1, 10, 11], [2, 3, 12, 13]]
    grouped(library, lambda r: library.ncclGather(at(own[r]), at(wide[r]), four, kind, 0, handles[r], None))
    assert wide[0].tolist() == [0, 1, 2, 3, 10, 11, 12, 13]
    grouped(library, lambda r: library.ncclScatter(at(own[r]), at(half[r]), two, kind, 1, handles[r], None))
    assert [h.tolist() for h in half] == [[10, 11], [12, 13]]
    grouped(library, lambda r: library.ncclBcast(at(own[r]), four, kind, 1, handles[r], None))
    assert own[0].tolist() == [10, 11, 12, 13]


def test_messages_in_a_group_and_to_itself():
    library = nccl()
    handles = communicators(library)
    own = [torch.full((3,), float(r), device=f"cuda:{r}") for r in range(RANKS)]
    other = [torch.zeros(3, device=f"cuda:{r}") for r in range(RANKS)]
    three, kind = c_size_t(3), 7
    assert library.ncclSend(at(own[0]), three, kind, 1, handles[0], None) == 0  # nobody receives yet
    own[0].fill_(9)
    assert library.ncclRecv(at(other[1]), three, kind, 0, handles[1], None) == 0
    assert other[1].tolist() == [0, 0, 0]
    library.ncclGroupStart()
    for r in range(RANKS):
        assert library.ncclSend(at(own[r]), three, kind, 1 - r, handles[r], None) == 0
        assert library.ncclRecv(at(other[r]), three, kind, 1 - r, handles[r], None) == 0
    assert library.ncclGroupEnd() == 0
    assert [o.tolist() for o in other] == [[1, 1, 1], [9, 9, 9]]
    library.ncclGroupStart()
    assert library.ncclSend(at(own[0]), three, kind, 0, handles[0], None) == 0
    assert library.ncclRecv(at(other[0]), three, kind, 0, handles[0], None) == 0
    assert library.ncclGroupEnd() == 0
    assert other[0].tolist() == [9, 9, 9]


def test_split_and_reductions_of_ones_own():
    library, value = nccl(), c_int()
    handles = communicators(library)
    parts = [c_void_p(), c_void_p()]
    library.ncclGroupStart()
    for r in range(RANKS):
        assert library.ncclCommSplit(handles[r], 0 if r else -1, 0, byref(parts[r]), None) == 0
    assert library.ncclGroupEnd() == 0
    assert parts[0].value is None
    assert library.ncclCommCount(parts[1], byref(value)) == 0
    assert value.value == 1
    factor = torch.tensor([0.5])
    operations = [c_int(), c_int()]
    for handle, operation in zip(handles, operations, strict=True):
        assert library.ncclRedOpCreatePreMulSum(byref(operation), at(factor), 7, 1, handle) == 0
    own = [torch.full((2,), 4.0 * (r + 1), device=f"cuda:{r}") for r in range(RANKS)]
    size = c_size_t(2)
    grouped(
        library,
        lambda r: library.ncclAllReduce(at(own[r]), at(own[r]), size, 7, operations[r], handles[r], None),
    )
    assert [d.tolist() for d in own] == [[6, 6], [6, 6]]


def test_errors_say_what_is_wrong():
    library = nccl()
    (handle, _) = communicators(library)
    x = torch.zeros(2, device="cuda")
    assert library.ncclAllReduce(at(x), at(x), c_size_t(2), 77, SUM, handle, None) == 4
    assert b"no data type has the number 77" in library.ncclGetErrorString(4)
    assert library.ncclAllReduce(at(x), at(x), c_size_t(2), 7, 44, handle, None) == 4
    assert library.ncclSend(at(x), c_size_t(2), 7, 5, handle, None) == 4
    assert library.ncclCommCount(None, byref(c_int())) == 4
    assert library.ncclGroupEnd() == 5
    assert library.ncclCommShrink(None, None, 0, None, None, 0) == 5
    assert b"ncclCommShrink of libnccl.so.2 is not served" in library.ncclGetErrorString(5)
    assert library.ncclGetErrorString(0) == b"no error"


def test_a_communicator_that_cannot_be_made_leaves_no_open_group():
    library, unique = nccl(), (ctypes.c_byte * 128)()
    handles, made = (c_void_p * RANKS)(), c_void_p()
    assert library.ncclCommInitAll(None, RANKS, None) == 4
    assert library.ncclCommInitAll(handles, -1, None) == 4
    assert b"-1 devices" in library.ncclGetErrorString(4)
    for device in (-1, 99):
        assert library.ncclCommInitAll(handles, RANKS, (c_int * RANKS)(0, device)) == 4
        assert f"device {device} of 2".encode() in library.ncclGetErrorString(4)
    assert library.ncclCommInitAll((c_void_p * 3)(), 3, None) == 4
    assert list(handles) == [None] * RANKS
    assert library.ncclGetUniqueId(unique) == 0
    for count in (0, 2):
        assert library.ncclCommInitRankScalable(byref(made), 1, 0, count, unique, None) == 4
        assert f"{count} ids for 1 ranks".encode() in library.ncclGetErrorString(4)
    assert library.ncclGroupEnd() == 5
    assert library.ncclCommInitRankScalable(byref(made), 1, 0, 1, unique, None) == 0
    assert made.value
    assert library.ncclCommDestroy(made) == 0

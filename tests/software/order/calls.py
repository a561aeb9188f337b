"""As the programs beside, with compiled code, kernels in Triton, and calls of the runtime and the driver."""

import ctypes

import torch
import triton
import triton.language as tl

from tests.software.order.programs import DEVICE, SIDE, SIZE, main_stream, ones

MAJOR = (torch.version.cuda or "13").partition(".")[0]
RUNTIME, DRIVER = ctypes.CDLL(f"libcudart.so.{MAJOR}"), ctypes.CDLL("libcuda.so.1")


@torch.compile
def shifted(x):
    return x * 2 + 1


def input_of_compiled_code(right):
    x = ones()
    if right:
        SIDE.wait_stream(main_stream())
    with torch.cuda.stream(SIDE):
        shifted(x)


def result_of_compiled_code(right):
    x = ones()
    SIDE.wait_stream(main_stream())
    with torch.cuda.stream(SIDE):
        y = shifted(x)
    if right:
        main_stream().wait_stream(SIDE)
    return y + 1


@triton.jit
def doubled(source, target, size, block: tl.constexpr):
    places = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(target + places, tl.load(source + places, places < size) * 2, places < size)


def doubled_beside(waits_before=True, waits_after=True):
    """Return ones and their double, by a kernel on another stream."""
    x, y = ones(), torch.empty(SIZE, device=DEVICE)
    if waits_before:
        SIDE.wait_stream(main_stream())
    with torch.cuda.stream(SIDE):
        doubled[(triton.cdiv(SIZE, 1024),)](x, y, SIZE, 1024)
    if waits_after:
        main_stream().wait_stream(SIDE)
    return x, y


def input_of_a_triton_kernel(right):
    x, _ = doubled_beside(waits_before=right, waits_after=False)
    return x.sum()  # both read


def result_of_a_triton_kernel(right):
    _, y = doubled_beside(waits_after=right)
    return y.sum()


def copied(target, source, stream=SIDE):
    """Copy a tensor by the runtime, as a program does by ctypes or cuda-python."""
    words = target.data_ptr(), source.data_ptr(), 4 * SIZE, 4, stream.cuda_stream
    assert RUNTIME.cudaMemcpyAsync(*map(ctypes.c_void_p, words)) == 0


def copy_of_the_runtime(right):
    x, y = ones(), torch.empty(SIZE, device=DEVICE)
    if right:
        SIDE.wait_stream(main_stream())
    copied(y, x)
    SIDE.synchronize()
    assert y.sum().item() == SIZE


def fill_of_the_driver(right):
    x = ones()
    torch.cuda.synchronize()
    words = x.data_ptr(), 0, SIZE, SIDE.cuda_stream
    assert DRIVER.cuMemsetD32Async(*map(ctypes.c_void_p, words)) == 0
    if right:
        main_stream().wait_stream(SIDE)
    return x.sum()


def buffer_of_the_runtime(right):
    x, place = torch.empty(SIZE, device=DEVICE), ctypes.c_void_p()
    torch.cuda.synchronize()
    assert RUNTIME.cudaHostAlloc(ctypes.byref(place), ctypes.c_size_t(4 * SIZE), 0) == 0
    buffer = torch.frombuffer((ctypes.c_float * SIZE).from_address(place.value), dtype=torch.float32)
    copied(x, buffer.fill_(1))
    if right:
        SIDE.synchronize()
    buffer.fill_(2)
    assert RUNTIME.cudaFreeHost(place) == 0


def copy_between_devices_of_the_runtime(right):
    with torch.cuda.stream(SIDE if right else main_stream()):
        x, y = ones(), torch.empty(SIZE, device="cuda:1")
    words = y.data_ptr(), 1, x.data_ptr(), 0, 4 * SIZE
    if right:
        assert (
            RUNTIME.cudaMemcpyPeer(*map(ctypes.c_void_p, words)) == 0
        )  # all work of both devices waits for it
    else:
        assert RUNTIME.cudaMemcpyPeerAsync(*map(ctypes.c_void_p, (*words, SIDE.cuda_stream))) == 0
    with torch.cuda.stream(torch.cuda.Stream("cuda:1")):
        assert y.sum().item() == SIZE

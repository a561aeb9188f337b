"""The stock wheels of numba and numba-cuda on the software device, where they are installed."""

import math

import pytest
import torch

pytestmark = pytest.mark.long


def load():
    numba = pytest.importorskip("numba")
    pytest.importorskip("numba_cuda")
    from numba import cuda

    cuda.config.CUDA_LOW_OCCUPANCY_WARNINGS = False
    return numba, cuda


def test_shared_memory_and_atomics():
    numba, cuda = load()

    @cuda.jit
    def total(x, out):
        own = cuda.shared.array(128, numba.float32)
        thread, i = cuda.threadIdx.x, cuda.grid(1)
        own[thread] = x[i] if i < x.size else 0
        cuda.syncthreads()
        half = 64
        while half > 0:
            if thread < half:
                own[thread] += own[thread + half]
            cuda.syncthreads()
            half //= 2
        if thread == 0:
            cuda.atomic.add(out, 0, own[0])

    x, out = torch.rand(10000, device="cuda"), torch.zeros(1, device="cuda")
    total[79, 128](x, out)
    torch.testing.assert_close(out[0], x.sum())


def test_tensors_streams_and_dynamic_memory():
    numba, cuda = load()

    @cuda.jit
    def reversed_sines(x, y):
        own, thread = cuda.shared.array(0, numba.float32), cuda.threadIdx.x
        own[thread] = math.sin(x[thread])
        cuda.syncthreads()
        y[thread] = own[own.size - 1 - thread]

    x, y = torch.rand(64, device="cuda"), torch.zeros(64, device="cuda")
    stream = cuda.stream()
    reversed_sines[1, 64, stream, 256](x, y)
    stream.synchronize()
    torch.testing.assert_close(y, x.sin().flip(0))


def test_warps():
    _, cuda = load()

    @cuda.jit
    def sums(x, out):
        value = x[cuda.grid(1)]
        ballot = cuda.ballot_sync(0xFFFFFFFF, value > 15)
        for by in (16, 8, 4, 2, 1):
            value += cuda.shfl_down_sync(0xFFFFFFFF, value, by)
        if cuda.laneid == 0:
            out[0], out[1] = value, cuda.popc(ballot)

    out = torch.zeros(2, dtype=torch.float64, device="cuda")
    sums[1, 32](torch.arange(32.0, dtype=torch.float64, device="cuda"), out)
    assert out.tolist() == [496, 16]


def test_a_lock_lets_other_threads_on():
    _, cuda = load()

    @cuda.jit
    def count(lock, counter):
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        counter[0] += 1
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)

    lock, counter = torch.zeros(2, 1, dtype=torch.int32, device="cuda")
    count[4, 64](lock, counter)
    assert counter.item() == 256


def test_random_numbers():
    numba, cuda = load()
    from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32

    @cuda.jit
    def pi(states, count, out):
        thread, inside = cuda.grid(1), 0
        for _ in range(count):
            x = xoroshiro128p_uniform_float32(states, thread)
            y = xoroshiro128p_uniform_float32(states, thread)
            inside += x * x + y * y <= 1
        out[thread] = 4 * inside / count

    out = torch.zeros(512, device="cuda")
    pi[8, 64](create_xoroshiro128p_states(512, seed=1), 500, out)
    assert abs(out.mean().item() - math.pi) < 0.02


def test_an_exception_of_a_kernel():
    _, cuda = load()

    @cuda.jit(debug=True, opt=False)
    def fails(x):
        if cuda.threadIdx.x == 3:
            raise ValueError("three")
        x[cuda.threadIdx.x] = 1

    with pytest.raises(ValueError, match=r"tid=\[0, 0, 3\].*three"):
        fails[1, 32](torch.zeros(32, device="cuda"))


def test_what_is_refused():
    numba, cuda = load()

    @cuda.jit
    def reshapes(x):
        x.reshape(2, 2)[0, 0] = 1

    with pytest.raises(ImportError, match="does not have numba_attempt_nocopy_reshape"):
        reshapes[1, 1](torch.zeros(4, device="cuda"))

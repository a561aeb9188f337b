"""The stock wheel of cupy for CUDA 13 on the software device, where it is installed."""

import pytest
import torch

pytestmark = pytest.mark.long


def load():
    return pytest.importorskip("cupy", exc_type=ImportError)


def test_arrays_are_numpys():
    cupy = load()
    import numpy

    x, own = cupy.arange(24, dtype="f").reshape(4, 6), numpy.arange(24, dtype="f").reshape(4, 6)
    assert (cupy.asnumpy(x.sum(axis=0) * 2 + 1) == own.sum(axis=0) * 2 + 1).all()
    assert (x[x > 7].get() == own[own > 7]).all()
    assert x.argmax() == 23
    numpy.testing.assert_allclose(cupy.sqrt(x).get(), numpy.sqrt(own), rtol=1e-6)
    numpy.testing.assert_allclose((x @ x.T).get(), own @ own.T, rtol=1e-6)
    numpy.testing.assert_allclose(cupy.fft.fft(x).get(), numpy.fft.fft(own), rtol=1e-4, atol=1e-4)


def test_sorting():
    cupy = load()
    import numpy

    own = numpy.random.default_rng(0).integers(0, 50, (3, 40))
    x = cupy.asarray(own)
    for axis in (0, 1):
        assert (cupy.sort(x, axis=axis).get() == numpy.sort(own, axis=axis)).all()
        assert (cupy.argsort(x, axis=axis).get() == numpy.argsort(own, axis=axis, kind="stable")).all()
    assert (cupy.lexsort(x).get() == numpy.lexsort(own)).all()


def test_own_kernels():
    cupy = load()
    head = 'extern "C" __global__ void add(const float* x, float y, float* z)'
    raw = cupy.RawKernel(head + "{ z[threadIdx.x] = x[threadIdx.x] + y; }", "add")
    x, z = cupy.arange(5, dtype="f"), cupy.zeros(5, dtype="f")
    raw((1,), (5,), (x, cupy.float32(2), z))
    assert z.tolist() == [2, 3, 4, 5, 6]
    square = cupy.ElementwiseKernel("T x", "T y", "y = x * x", "square")
    norm = cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    assert square(x).tolist() == [0, 1, 4, 9, 16]
    assert float(norm(cupy.asarray([3.0, 4.0]))) == 5


def test_memory_is_torchs_too():
    cupy = load()
    x = torch.arange(4, device="cuda")
    y = cupy.from_dlpack(x)
    y += 1
    assert x.tolist() == [1, 2, 3, 4]
    assert torch.from_dlpack(y * 2).tolist() == [2, 4, 6, 8]
    with cupy.cuda.Stream() as stream:
        z = cupy.ones(4) * 3
    stream.synchronize()
    assert z.sum() == 12


def test_linear_algebra():
    cupy = load()
    import numpy

    own = numpy.random.default_rng(0).standard_normal((5, 5))
    x, right = cupy.asarray(own), cupy.arange(5.0)
    numpy.testing.assert_allclose(cupy.linalg.solve(x, right).get(), numpy.linalg.solve(own, right.get()))
    numpy.testing.assert_allclose(
        cupy.linalg.svd(x, compute_uv=False).get(), numpy.linalg.svd(own, compute_uv=False)
    )
    numpy.testing.assert_allclose(cupy.linalg.eigvalsh(x + x.T).get(), numpy.linalg.eigvalsh(own + own.T))


def test_sparse_matrices():
    cupy = load()
    pytest.importorskip("scipy")
    from cupyx.scipy import sparse

    x = cupy.asarray([[0.0, 2, 0], [1, 0, 3], [0, 0, 4]])
    matrix = sparse.csr_matrix(x)
    assert (matrix @ cupy.arange(3.0)).tolist() == (x @ cupy.arange(3.0)).tolist()
    assert (matrix @ matrix + matrix.T).toarray().tolist() == (x @ x + x.T).tolist()


def test_what_is_compiled_into_the_wheel_is_refused():
    cupy = load()
    with pytest.raises(Exception, match="compiled for a GPU"):
        cupy.random.default_rng(0).random(4).get()

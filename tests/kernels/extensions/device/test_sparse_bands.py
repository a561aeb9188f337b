"""cuSPARSE's systems of three and five diagonals in an extension, compared with torch."""

from ctypes import byref, c_size_t

import pytest
import torch

from tests.kernels.extensions.device.corpus import library
from tests.kernels.extensions.device.solver import EXECUTION_FAILED, INVALID, KINDS, close, each_kind
from tests.kernels.extensions.device.test_sparse_solver import made, word


def run(name, *arguments, then=(None,)):
    run.handle = getattr(run, "handle", None) or made("cusparseCreate")
    given = (*map(word, arguments), *then)
    return getattr(library("solver"), f"cusparse{name}")(run.handle, *given)


def sized(name, *arguments):
    """Ask how large a buffer is, and solve with none."""
    size = c_size_t()
    assert run(f"{name}_bufferSizeExt", *arguments, then=(byref(size),)) == 0
    assert size.value > 0
    return run(name, *arguments)


def systems(m, batch, dtype, *, beside=1, hard=False):
    """Return a batch of banded matrices, and their diagonals from the lowest on; outside of them is NaN."""
    one = torch.manual_seed(m)
    a = torch.randn(batch, m, m, dtype=dtype, generator=one).tril(beside).triu(-beside)
    a.diagonal(dim1=1, dim2=2).mul_(0.01 if hard else 1).add_(0 if hard else 4)
    bands = torch.full((2 * beside + 1, batch, m), torch.nan, dtype=dtype)
    for k in range(-beside, beside + 1):
        bands[k + beside, :, max(-k, 0) : m - max(k, 0)] = a.diagonal(k, 1, 2)
    return a, bands.cuda()


@each_kind
@pytest.mark.parametrize("name", ["gtsv2", "gtsv2_nopivot"])
def test_three_diagonals(kind, name):
    (a,), bands = systems(9, 1, KINDS[kind], hard=name == "gtsv2")
    b = torch.randn(3, 11, dtype=a.dtype).cuda()
    before = b.clone()
    assert sized(f"{kind}{name}", 9, 3, *bands[:, 0], b, 11) == 0
    close(a @ b[:, :9].cpu().mT, before[:, :9].cpu().mT)
    assert torch.equal(b[:, 9:], before[:, 9:])


@each_kind
def test_strided_batches(kind):
    a, bands = systems(7, 4, KINDS[kind])
    held = torch.nn.functional.pad(bands, (0, 2))
    x = torch.randn(4, 9, dtype=a.dtype).cuda()
    before = x.clone()
    assert sized(f"{kind}gtsv2StridedBatch", 7, *held, x, 4, 9) == 0
    close((a @ x[:, :7].cpu()[..., None])[..., 0], before[:, :7].cpu())
    assert torch.equal(x[:, 7:], before[:, 7:])


@each_kind
@pytest.mark.parametrize(("name", "beside", "algorithm"), [("gtsv", 1, 0), ("gtsv", 1, 2), ("gpsv", 2, 0)])
def test_interleaved_batches(kind, name, beside, algorithm):
    a, bands = systems(6, 5, KINDS[kind], beside=beside)
    held = bands.mT.contiguous()
    x = torch.randn(6, 5, dtype=a.dtype).cuda()
    before = x.clone()
    assert sized(f"{kind}{name}InterleavedBatch", algorithm, 6, *held, x, 5) == 0
    close((a @ x.cpu().mT[..., None])[..., 0], before.cpu().mT)


def test_errors():
    one = torch.ones(4).cuda()
    assert run("Sgtsv2", 2, 1, one, one, one, one, 4) == run("Sgtsv2", 4, 1, one, one, one, one, 3) == INVALID
    assert run("SgpsvInterleavedBatch", 1, 4, *[one] * 6, 1) == INVALID
    assert run("SgtsvInterleavedBatch", 0, 4, one, None, one, one, 1) == INVALID
    assert run("Sgtsv2StridedBatch", 4, one, one, one, one, 1, 3) == INVALID
    zero = torch.zeros(4).cuda()
    assert run("Sgtsv2", 4, 1, zero, zero, zero, one, 4) == EXECUTION_FAILED

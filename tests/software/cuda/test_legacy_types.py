"""torch.cuda.FloatTensor and the like are torch's own types, construct tensors, and can be the default."""

import pytest
import torch

from tests.software.cuda.deprecation import ignoring_deprecation


@ignoring_deprecation
def test_types_make_tensors_and_tell_them():
    x = torch.cuda.FloatTensor([1, 2])
    assert (x.device, x.dtype, x.type()) == (torch.device("cuda:0"), torch.float32, "torch.cuda.FloatTensor")
    assert isinstance(x, torch.cuda.FloatTensor)
    assert not isinstance(x, torch.cuda.HalfTensor)
    assert not isinstance(x.cpu(), torch.cuda.FloatTensor)
    assert torch.cuda.LongTensor(2, 3).shape == (2, 3)
    assert torch.cuda.ByteTensor([1]).dtype is torch.uint8
    assert x.cpu().type(torch.cuda.HalfTensor).type() == "torch.cuda.HalfTensor"
    assert x.new(3).is_cuda
    assert x.type_as(x.cpu()).device.type == "cpu"
    assert torch.cuda.FloatTensor.is_cuda
    assert not torch.FloatTensor.is_cuda
    with torch.cuda.device(1):
        assert torch.cuda.FloatTensor(2).device.index == 1
    with pytest.raises(TypeError, match="expected .*cuda.* \\(got"):
        torch.cuda.FloatTensor(torch.ones(2))


@ignoring_deprecation
def test_sparse_types():
    indices = torch.tensor([[0, 1], [1, 0]]).cuda()
    x = torch.cuda.sparse.FloatTensor(indices, torch.ones(2, device="cuda"), torch.Size([2, 2]))
    assert x.is_cuda
    assert x.is_sparse
    assert x.type() == "torch.cuda.sparse.FloatTensor"
    assert isinstance(x, torch.cuda.sparse.FloatTensor)


@ignoring_deprecation
def test_other_types_are_refused():
    with pytest.raises(TypeError, match="only floating-point types are supported as the default type"):
        torch.set_default_tensor_type(torch.cuda.LongTensor)

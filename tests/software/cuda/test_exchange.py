"""Exchanging tensors with the host and other libraries, as on CUDA: numpy, DLPack, arrays, pinned memory."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import rnn

CUDA = torch.device("cuda:0")


def test_array_interface_describes_the_memory():
    x = torch.randn(3, 4, device=CUDA)
    interface = x.__cuda_array_interface__
    assert interface["data"] == (x.data_ptr(), False)
    assert (interface["shape"], interface["typestr"], interface["strides"]) == ((3, 4), "<f4", None)
    assert interface["version"] == 2
    assert x.t().__cuda_array_interface__["strides"] == (4, 16)
    with pytest.raises(AttributeError, match="Can't get __cuda_array_interface__ on non-CUDA tensor type"):
        _ = torch.ones(2).__cuda_array_interface__
    with pytest.raises(RuntimeError, match="on Variable that requires grad"):
        _ = x.requires_grad_().__cuda_array_interface__


def test_numpy_refuses():
    for convert in (np.asarray, torch.Tensor.numpy, torch.Tensor.__array__):
        with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy. Use"):
            convert(torch.ones(2, device=CUDA))
    assert torch.ones(2, device=CUDA).numpy(force=True).tolist() == [1, 1]


def test_dlpack_shares_memory():
    x = torch.arange(6.0, device=CUDA).view(2, 3)
    assert x.__dlpack_device__() == (2, 0)
    assert torch.ones(1, device="cuda:1").__dlpack_device__() == (2, 1)
    for taken in (torch.from_dlpack(x), torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x))):
        assert (taken.device, taken.data_ptr(), taken.shape) == (CUDA, x.data_ptr(), x.shape)
    assert torch.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    assert torch.from_dlpack(x, device="cpu").device.type == "cpu"
    with torch.cuda.device(1):
        assert torch.from_dlpack(torch.ones(2, device="cuda:1")).device.index == 1
    with pytest.raises(BufferError, match="different CUDA device index"):
        torch.from_dlpack(torch.ones(2, device="cuda:1"))
    with pytest.raises((BufferError, RuntimeError)):
        np.from_dlpack(x)


def test_pinned_memory_is_the_hosts():
    pinned = torch.ones(3).pin_memory()
    assert pinned.is_pinned()
    assert pinned[1:].is_pinned()
    assert pinned.pin_memory() is pinned
    assert torch.empty(3, pin_memory=True).is_pinned()
    assert not torch.ones(3).is_pinned()
    assert not pinned.clone().is_pinned()
    there = pinned.to("cuda", non_blocking=True)
    assert not there.is_pinned()
    assert not there.cpu().is_pinned()
    assert there.to("cpu", non_blocking=True).is_pinned()
    with pytest.raises(RuntimeError, match="cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors"):
        there.pin_memory()
    with pytest.raises(RuntimeError, match="Only dense CPU tensors can be pinned"):
        torch.empty(2, device="cuda", pin_memory=True)


class FloatsAt:
    """An object that says that floats at an address are CUDA's."""

    def __init__(self, host):
        self.__cuda_array_interface__ = {
            "shape": tuple(host.shape),
            "typestr": "<f4",
            "data": (host.data_ptr(), False),
            "version": 3,
        }


def test_pinned_memory_has_an_address_on_the_device():
    pinned = torch.arange(4.0).pin_memory()
    mapped = torch.as_tensor(FloatsAt(pinned[1:]), device="cuda")
    assert (mapped.device, mapped.data_ptr()) == (CUDA, pinned[1:].data_ptr())
    mapped.mul_(2)
    pinned[1] = 7
    assert pinned.tolist() == [0, 7, 4, 6]
    assert mapped.tolist() == [7, 4, 6]
    with torch.cuda.device(1):
        assert torch.as_tensor(FloatsAt(pinned), device="cuda").device.index == 1
    with pytest.raises(RuntimeError, match="resides on host memory and is not registered"):
        torch.as_tensor(FloatsAt(torch.ones(2)), device="cuda")


def test_device_memory_is_shared_already():
    x = torch.ones(3, device=CUDA)
    address = x.data_ptr()
    assert x.share_memory_() is x
    assert x.is_shared()
    assert x.data_ptr() == address
    assert nn.Linear(2, 2).cuda().share_memory().weight.is_shared()


def test_packed_sequences_keep_their_sizes_on_the_host():
    x = torch.randn(3, 5, 2)
    packed = rnn.pack_padded_sequence(x, [5, 3, 2], batch_first=True)
    there = packed.cuda()
    assert there.is_cuda
    assert there.data.is_cuda
    assert not there.batch_sizes.is_cuda
    assert there.to("cuda") is there
    assert packed.cpu() is packed
    assert not there.cpu().is_cuda
    assert packed.pin_memory().is_pinned()
    unsorted = rnn.pack_padded_sequence(x, [2, 5, 3], batch_first=True, enforce_sorted=False).cuda()
    assert unsorted.sorted_indices.is_cuda
    assert unsorted.unsorted_indices.is_cuda
    with pytest.raises(RuntimeError, match="should be a 1D CPU int64 tensor, but got 1D cuda"):
        rnn.pack_padded_sequence(x.cuda(), torch.tensor([5, 3, 2]).cuda(), batch_first=True)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_packed_sequences_run(kind):
    packed = rnn.pack_padded_sequence(torch.randn(3, 5, 2), [5, 3, 2], batch_first=True)
    model = kind(2, 4, 2, bidirectional=True)
    expected = model(packed)[0].data
    result, _ = model.cuda()(packed.cuda())
    torch.testing.assert_close(result.data.cpu(), expected)
    padded, lengths = rnn.pad_packed_sequence(result, batch_first=True)
    assert padded.is_cuda
    assert not lengths.is_cuda


def test_lazy_views_and_zeros():
    host = torch.randn(3, dtype=torch.complex64)
    there = host.cuda()
    assert there.conj().is_conj()
    assert there.conj().data_ptr() == there.data_ptr()
    assert there.conj().imag.is_neg()
    for operator in (
        torch.conj,
        lambda z: z.conj().imag,
        lambda z: z.conj() * z,
        lambda z: z.conj().resolve_conj(),
    ):
        torch.testing.assert_close(operator(there).cpu(), operator(host))
    there.conj().imag.fill_(2)
    assert there.imag.tolist() == [-2, -2, -2]
    zeros = torch._efficientzerotensor((2, 3), device="cuda:1")
    assert zeros._is_zerotensor()
    assert str(zeros.device) == "cuda:1"
    for value in (zeros.cpu(), zeros.clone(), zeros * torch.ones(2, 3, device="cuda:1")):
        assert value.tolist() == [[0, 0, 0], [0, 0, 0]]

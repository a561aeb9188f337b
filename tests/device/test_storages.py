"""Storages of the device."""

from __future__ import annotations

import warnings

import torch
from torch.nn.utils.rnn import pack_sequence


def test_storages_on_the_device_are_cuda_storages() -> None:
    tensor = torch.ones(2, device="cuda")
    assert tensor.untyped_storage().is_cuda
    moved = torch.ones(2).untyped_storage().cuda()
    assert moved.is_cuda
    assert moved.device == tensor.device


def test_legacy_storages() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        storage = torch.ones(2, device="cuda").storage()
        assert storage.is_cuda
        assert isinstance(storage, torch.cuda.FloatStorage)
        assert not isinstance(storage, torch.cuda.HalfStorage)
        assert torch.ones(2).storage().cuda().device == storage.device


def test_packed_sequences() -> None:
    packed = pack_sequence([torch.ones(2), torch.ones(1)])
    for moved in (packed.cuda(), packed.to("cuda"), packed.cuda(0)):
        assert moved.is_cuda
        assert moved.data.device == torch.device("cuda", 0)


def test_torch_can_still_share_a_host_storage() -> None:
    from torch.multiprocessing.reductions import reduce_storage

    rebuild, arguments = reduce_storage(torch.ones(2).untyped_storage())
    assert callable(rebuild)
    assert arguments

"""Storages of the device."""

from __future__ import annotations

import warnings

import torch


def test_legacy_storages() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        storage = torch.ones(2, device="cuda").storage()
        assert storage.is_cuda
        assert isinstance(storage, torch.cuda.FloatStorage)
        assert not isinstance(storage, torch.cuda.HalfStorage)
        assert torch.ones(2).storage().cuda().device == storage.device


def test_torch_can_still_share_a_host_storage() -> None:
    from torch.multiprocessing.reductions import reduce_storage

    rebuild, arguments = reduce_storage(torch.ones(2).untyped_storage())
    assert callable(rebuild)
    assert arguments

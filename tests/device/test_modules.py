"""Device modules, random state, default types, and storages."""

import warnings

import pytest
import torch
from torch.utils.checkpoint import checkpoint


def test_the_module_of_cuda_is_torch_cuda() -> None:
    assert torch.get_device_module("cuda") is torch.cuda
    assert torch.get_device_module("cuda:0") is torch.cuda
    own = torch.get_device_module(torch.device("cuda"))
    assert own is getattr(torch, torch.device("cuda").type)


def test_forked_random_state_comes_back() -> None:
    torch.cuda.manual_seed(1)
    expected = torch.rand(2, device="cuda").tolist()
    for options in ({"devices": [0]}, {"devices": ["cuda:0"]}, {"devices": [0], "device_type": "cuda"}):
        torch.cuda.manual_seed(1)
        with torch.random.fork_rng(**options):
            torch.rand(5, device="cuda")
        assert torch.rand(2, device="cuda").tolist() == expected


def test_checkpointing_repeats_dropout() -> None:
    for use_reentrant in (True, False):
        tensor = torch.ones(64, device="cuda", requires_grad=True)
        dropped = checkpoint(torch.nn.functional.dropout, tensor, 0.5, use_reentrant=use_reentrant)
        dropped.sum().backward()
        assert tensor.grad is not None
        assert torch.equal(dropped.detach(), tensor.grad)


def test_default_tensor_types() -> None:
    deprecated = "set_default_tensor_type.* is deprecated"
    torch.set_warn_always(True)
    for kind in ("torch.cuda.HalfTensor", torch.cuda.HalfTensor):
        with pytest.warns(UserWarning, match=deprecated):
            torch.set_default_tensor_type(kind)
        made = torch.zeros(1)
        with pytest.warns(UserWarning, match=deprecated):
            torch.set_default_tensor_type("torch.FloatTensor")
        assert made.is_cuda
        assert made.dtype is torch.float16
    torch.set_warn_always(False)
    assert torch.zeros(1).device.type == "cpu"
    assert torch.zeros(1).dtype is torch.float32


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

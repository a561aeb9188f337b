"""Device modules, random state, default types and devices, and data loading."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for kind in ("torch.cuda.HalfTensor", torch.cuda.HalfTensor):
            torch.set_default_tensor_type(kind)
            try:
                made = torch.zeros(1)
            finally:
                torch.set_default_tensor_type("torch.FloatTensor")
            assert made.is_cuda
            assert made.dtype is torch.float16
    assert torch.zeros(1).device.type == "cpu"
    assert torch.zeros(1).dtype is torch.float32


def test_default_devices() -> None:
    torch.set_default_device("cuda")
    try:
        assert torch.zeros(1).is_cuda
        assert torch.nn.Linear(1, 1).weight.is_cuda
    finally:
        torch.set_default_device(None)


def test_modules_move() -> None:
    for move in (
        lambda module: module.cuda(),
        lambda module: module.cuda(0),
        lambda module: module.cuda("cuda:0"),
        lambda module: module.to("cuda"),
        lambda module: module.to_empty(device="cuda"),
    ):
        assert move(torch.nn.Linear(1, 1)).weight.device == torch.device("cuda:0")


def test_data_parallel_on_one_device() -> None:
    module = torch.nn.Linear(2, 1).cuda()
    parallel = torch.nn.DataParallel(module, device_ids=[0])
    parallel(torch.ones(4, 2, device="cuda")).sum().backward()
    assert module.weight.grad is not None
    assert module.weight.grad.tolist() == [[4, 4]]


def test_tensors_are_scattered_and_gathered() -> None:
    from torch.nn.parallel import comm

    chunks = comm.scatter(torch.arange(4.0, device="cuda"), [0, 0])
    assert [chunk.tolist() for chunk in chunks] == [[0, 1], [2, 3]]
    assert comm.gather(chunks, destination=0).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("workers", [0, 1])
def test_loaders_pin(workers: int) -> None:
    loader = DataLoader(TensorDataset(torch.arange(8.0)), batch_size=4, pin_memory=True, num_workers=workers)
    batches = [batch for (batch,) in loader]
    assert all(batch.is_pinned() for batch in batches)
    assert [batch.cuda(non_blocking=True).sum().item() for batch in batches] == [6, 22]


def test_saving_activations_on_the_host() -> None:
    tensor = torch.ones(2, device="cuda", requires_grad=True)
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        (tensor**2).sum().backward()
    assert tensor.grad is not None
    assert tensor.grad.tolist() == [2, 2]

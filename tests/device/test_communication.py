"""Tensors that are sent between devices stay where they are."""

from __future__ import annotations

import pytest
import torch
import torch.cuda.comm
import torch.cuda.nccl

pytestmark = pytest.mark.platforms("cpu")


def test_sums_are_of_equal_shapes() -> None:
    ones, twos = torch.ones(2, device="cuda"), torch.full((2,), 2.0, device="cuda")
    assert torch.cuda.comm.reduce_add([ones, twos]).tolist() == [3, 3]
    assert torch.cuda.comm.reduce_add_coalesced([[ones, twos], [twos, ones]])[1].tolist() == [3, 3]
    with pytest.raises(ValueError, match="input 1 has invalid size: got 3, but expected 2"):
        torch.cuda.comm.reduce_add([ones, torch.ones(3, device="cuda")])


def test_what_cannot_be_sent_is_refused() -> None:
    comm, host, tensor = torch.cuda.comm, torch.ones(4, 2), torch.ones(4, 2, device="cuda")
    refused = {
        "at index 1 has device 'cpu'": lambda: comm.broadcast(tensor, out=[tensor, host]),
        "same shape as the source .* at index 0": lambda: comm.broadcast(tensor, out=[tensor[:2]]),
        "at least one device to scatter to": lambda: comm.scatter(tensor, ()),
        "devices and chunk_sizes to be of same length": lambda: comm.scatter(tensor, [0, 0], [4]),
        "at least one output tensor": lambda: comm.scatter(tensor, out=[]),
        "to be CUDA tensors, but output tensor at index 0": lambda: comm.scatter(tensor, out=[host]),
        "Output tensor at index 0 has incorrect shape": lambda: comm.scatter(tensor, out=[tensor[None]]),
        "along scatter dim 0 does not match": lambda: comm.scatter(tensor, out=[tensor[1:]], dim=-2),
        "at least one tensor to gather": lambda: comm.gather(()),
        "Expected all input tensors to be CUDA tensors": lambda: comm.gather((host, tensor)),
        "the same number of dimensions": lambda: comm.gather((tensor, tensor[None])),
        "Input tensor at index 1 has invalid shape": lambda: comm.gather((tensor, tensor[:, 1:])),
        r"to have shape \[8, 2\]": lambda: comm.gather((tensor, tensor), out=host),
    }
    for words, send in refused.items():
        with pytest.raises(RuntimeError, match=words):
            send()
    with pytest.raises(IndexError):
        comm.scatter(tensor, out=[tensor], dim=2)


def test_collectives_of_one_device_copy() -> None:
    tensor, out = torch.arange(4.0, device="cuda"), torch.empty(4, device="cuda")
    assert torch.cuda.nccl.is_available([tensor])
    torch.cuda.nccl.all_reduce([tensor], [out])
    assert torch.equal(tensor, out)
    assert torch.cuda.nccl.version() >= (2, 10)

"""torch.cuda.nccl: collectives among the tensors of one process."""

from __future__ import annotations

import pytest
import torch
import torch.cuda.nccl as nccl
from torch import Tensor


def _ranked(*values: float) -> list[Tensor]:
    """Returns one tensor per device: the values multiplied by its rank plus one."""
    devices = range(torch.cuda.device_count())
    return [torch.tensor(values, device=f"cuda:{rank}") * (rank + 1) for rank in devices]


def _sum_of_ranks() -> float:
    return sum(range(1, torch.cuda.device_count() + 1))


def test_the_version_is_new_enough_for_bfloat16() -> None:
    assert nccl.version() >= (2, 10)


def test_tensors_fit_that_are_dense_and_on_devices_of_their_own() -> None:
    tensors = _ranked(1.0, 2.0)
    assert nccl.is_available(tensors)
    assert not nccl.is_available([tensors[0], tensors[0]])
    assert not nccl.is_available([torch.ones(2, 2, device="cuda").t()[:1].t()])


def test_all_reduce_leaves_the_sum_everywhere() -> None:
    tensors = _ranked(1.0, 2.0)
    nccl.all_reduce(tensors)
    assert [each.tolist() for each in tensors] == [[_sum_of_ranks(), 2 * _sum_of_ranks()]] * len(tensors)


def test_all_reduce_writes_to_outputs_and_leaves_inputs() -> None:
    tensors, outputs = _ranked(1.0), _ranked(0.0)
    nccl.all_reduce(tensors, outputs)
    assert [each.item() for each in outputs] == [_sum_of_ranks()] * len(outputs)
    assert [each.item() for each in tensors] == [float(rank + 1) for rank in range(len(tensors))]


def test_reduce_leaves_the_sum_at_the_root() -> None:
    tensors = _ranked(3.0)
    nccl.reduce(tensors, root=0)
    assert tensors[0].item() == 3 * _sum_of_ranks()


def test_broadcast_copies_the_root() -> None:
    tensors = _ranked(5.0)
    nccl.broadcast(tensors, root=0)
    assert [each.item() for each in tensors] == [5.0] * len(tensors)


def test_all_gather_puts_all_in_order() -> None:
    tensors = _ranked(1.0)
    outputs = [torch.zeros(len(tensors), device=each.device) for each in tensors]
    nccl.all_gather(tensors, outputs)
    assert outputs[-1].tolist() == [float(rank + 1) for rank in range(len(tensors))]


def test_reduce_scatter_leaves_each_its_part() -> None:
    count = torch.cuda.device_count()
    inputs = [torch.arange(float(count), device=f"cuda:{rank}") for rank in range(count)]
    outputs = [torch.zeros(1, device=f"cuda:{rank}") for rank in range(count)]
    nccl.reduce_scatter(inputs, outputs)
    assert [each.item() for each in outputs] == [float(count * rank) for rank in range(count)]


def test_a_lone_tensor_is_an_error() -> None:
    with pytest.raises(TypeError, match="Inputs should be a collection of tensors"):
        nccl.all_reduce(torch.ones(2, device="cuda"))

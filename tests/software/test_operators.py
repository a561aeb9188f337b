"""Tensors of the device, and what it refuses; tests/commands/test_verify.py has what operators compute."""

import warnings

import pytest
import torch

from tests.software import own

pytestmark = pytest.mark.usefixtures("vendor_worker")


def test_results_are_written_into_what_the_caller_gives() -> None:
    source = torch.arange(6.0, device=own.device())
    given = torch.empty(0, device=own.device())
    torch.add(source, 1, out=given)
    source[1:3] = -1
    source.view(2, 3)[1].mul_(2)
    assert given.tolist() == [1, 2, 3, 4, 5, 6]
    assert source.tolist() == [0, -1, -1, 6, 8, 10]


def test_views_share_memory() -> None:
    base = torch.zeros(3, 4, device=own.device())
    base.t()[1:3].fill_(5)
    assert base.sum().item() == 30
    assert base[1].data_ptr() == base.data_ptr() + 16
    assert base.untyped_storage().data_ptr() == base.t().untyped_storage().data_ptr()


def test_copies_go_between_devices_and_layouts() -> None:
    host = torch.arange(6.0).view(2, 3)
    there = host.t().to(own.device(0))
    other = there.to(own.device(1), torch.int64)
    assert (str(there.device), str(other.device)) == (own.device(0), own.device(1))
    assert other.stride() == host.t().stride()
    assert other.cpu().tolist() == host.t().tolist()
    assert there.to(own.device(0)) is there


@own.only_simulated
def test_operator_without_a_kernel_for_the_device_is_refused() -> None:
    with torch.library._scoped_library("software_test", "DEF") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CPU")
        assert torch.ops.software_test.twice(torch.ones(1)).item() == 2
        with pytest.raises(NotImplementedError, match="Could not run 'software_test::twice'"):
            torch.ops.software_test.twice(torch.ones(1, device=own.device()))


def test_sparse_tensors_live_on_the_device() -> None:
    dense = torch.eye(3, device=own.device())
    sparse = (dense.to_sparse() * 2).coalesce()
    assert sparse.device == sparse.indices().device == dense.device
    assert torch.equal(sparse.to_dense(), dense * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that they are in beta
        assert torch.equal(dense.to_sparse_csr().to_dense(), dense)
    assert torch.equal(torch.eye(3).to_sparse().to(own.device()).cpu().to_dense(), torch.eye(3))


def test_host_libraries_need_a_copy() -> None:
    with pytest.raises(TypeError, match=f"can't convert {own.device(0)} device type tensor to numpy"):
        torch.ones(2, device=own.device()).numpy()


@own.as_an_npu
def test_casts_are_the_vendors() -> None:
    tensor = torch.ones(1, 2, 3, 3, device=own.device())
    assert tensor.double().dtype is torch.float32
    assert torch.ones(1, dtype=torch.float64).to(own.device()).dtype is torch.float64
    with pytest.raises(RuntimeError, match="contiguous_format"):
        tensor.to(memory_format=torch.channels_last)


@own.as_an_npu
def test_vendors_own_autocast_is_torchs() -> None:
    x = torch.randn(4, 4, device=own.device(), requires_grad=True)
    assert not own.module().is_autocast_enabled()
    with own.module().amp.autocast():
        assert own.module().is_autocast_enabled()
        assert own.module().get_autocast_dtype() is (x @ x).dtype is torch.float16
        loss = (x @ x).float().sum()
    loss.backward()
    assert x.grad is not None
    assert x.grad.dtype is torch.float32

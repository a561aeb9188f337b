"""Operators on the device and their gradients give the same numbers as on the CPU."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.software import own

pytestmark = pytest.mark.usefixtures("vendor_worker")


OPERATORS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": lambda a, b: a + b,
    "scalar": lambda a, b: 2 - a * torch.tensor(3.0),
    "matmul": lambda a, b: a @ b.t(),
    "einsum": lambda a, b: torch.einsum("ij,kj->ik", a, b),
    "sum": lambda a, b: a.sum(1) - b.mean(0)[0],
    "norm": lambda a, b: a.norm() + b.norm(dim=1).max(),
    "softmax": lambda a, b: F.softmax(a, 1) + F.log_softmax(b, 0),
    "where": lambda a, b: torch.where(a > b, a, b),
    "index": lambda a, b: a[:, [0, 2]] + b[torch.tensor([1, 0, 3, 2])][:, ::2][:, :2],
    "mask": lambda a, b: a[b > 0],
    "gather": lambda a, b: a.gather(1, b.argsort(1)),
    "cumsum": lambda a, b: a.cumsum(0) * b.cumprod(1),
    "views": lambda a, b: a.view(2, 2, 5).transpose(0, 2).reshape(5, 4) + b.t(),
    "cat": lambda a, b: torch.cat([a, b], 1).chunk(4, 1)[3],
    "unfold": lambda a, b: a.unfold(1, 3, 1).sum(-1) + b[:, :3],
    "layer_norm": lambda a, b: F.layer_norm(a, (5,)) * F.gelu(b),
    "conv2d": lambda a, b: F.conv2d(a.view(1, 1, 4, 5), b[:3, :3].reshape(1, 1, 3, 3), padding=1),
    "conv_transpose": lambda a, b: F.conv_transpose1d(a.view(1, 4, 5), b[:, :4].reshape(4, 2, 2)),
    "pool": lambda a, b: F.max_pool2d(a.view(1, 1, 4, 5), 2) + F.avg_pool2d(b.view(1, 1, 4, 5), 2),
    "interpolate": lambda a, b: F.interpolate(a.view(1, 1, 4, 5), scale_factor=2, mode="bilinear"),
    "cross_entropy": lambda a, b: F.cross_entropy(a, b.argmax(1)),
    "embedding": lambda a, b: F.embedding(b[:, :4].argmax(1), a),
    "attention": lambda a, b: F.scaled_dot_product_attention(a[None], b[None], a[None] * b[None]),
    "fft": lambda a, b: torch.fft.fft(a).abs() + b,
    "complex": lambda a, b: torch.view_as_complex(b[:, :4].contiguous().view(4, 2, 2)).real * a.sum(),
    "conjugate": lambda a, b: (torch.polar(a.abs(), b) * torch.polar(b.abs(), a).conj()).imag,
    "sign": lambda a, b: torch.sgn(a) * b,
    "linalg": lambda a, b: torch.linalg.solve(a @ a.t() + torch.eye(4, device=a.device), b),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_results_and_gradients_are_the_cpus(name: str) -> None:
    torch.manual_seed(0)
    operator, inputs = OPERATORS[name], [torch.randn(4, 5) for _ in range(2)]
    expected, expected_gradients = _run(operator, inputs, "cpu")
    actual, gradients = _run(operator, inputs, own.device())
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(gradients, expected_gradients)


def _run(
    operator: Callable[[Tensor, Tensor], Tensor], inputs: list[Tensor], device: str
) -> tuple[Tensor, list[Tensor]]:
    moved = [each.detach().to(device).requires_grad_() for each in inputs]
    result = operator(*moved)
    assert result.device.type == device
    result.pow(2).sum().backward()
    return result.detach().cpu(), [
        each.grad.cpu() if each.grad is not None else torch.zeros(1) for each in moved
    ]


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


def test_gradients_go_through_moves() -> None:
    weight = torch.ones(3, requires_grad=True)
    (weight.to(own.device()) * 2).to(own.device(1)).cpu().sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [2, 2, 2]


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

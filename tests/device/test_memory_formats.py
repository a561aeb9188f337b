"""channels_last and sparse products on every backend, also where the vendor lacks them."""

import pytest
import torch
from torch.nn import functional

from tests.platforms import EVERYWHERE, Platform

pytestmark = pytest.mark.platforms(*EVERYWHERE)
LAST = torch.channels_last
MOVES = {
    "to": lambda x: x.to(memory_format=LAST),
    "to another dtype": lambda x: x.to(torch.float16, memory_format=LAST).float(),
    "contiguous": lambda x: x.contiguous(memory_format=LAST),
    "contiguous without gradients": lambda x: x.detach().contiguous(memory_format=LAST),
    "clone": lambda x: x.clone(memory_format=LAST),
    "from the host": lambda x: x.cpu().to("cuda", memory_format=LAST),
    "cuda": lambda x: x.cpu().cuda(memory_format=LAST),
    "float": lambda x: x.half().float(memory_format=LAST),
    "gelu": lambda x: functional.gelu(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1),
}


@pytest.mark.parametrize("move", MOVES)
def test_values_are_those_of_the_host(move: str) -> None:
    host = torch.arange(120.0).reshape(2, 3, 4, 5) / 8
    expected = functional.gelu(host) if move == "gelu" else host
    with torch.inference_mode("without" in move):
        moved = MOVES[move](host.cuda())
    assert moved.is_cuda
    assert torch.allclose(moved.cpu(), expected, atol=1e-3)


def test_memory_of_five_dimensions() -> None:
    x = torch.rand(1, 2, 3, 4, 5, device="cuda")
    assert torch.equal(x.to(memory_format=torch.channels_last_3d), x)
    assert torch.empty(1, 2, 3, 4, 5, device="cuda", memory_format=torch.channels_last_3d).dim() == 5


def test_the_layout_is_told_as_it_is(platform: Platform) -> None:
    x = torch.rand(2, 3, 4, 5, device="cuda").to(memory_format=LAST)
    assert x.is_contiguous(memory_format=LAST) is (platform.backend != "npu")
    assert x.is_contiguous() is (platform.backend == "npu")


def test_a_layout_that_the_host_made_is_kept() -> None:
    x = torch.rand(2, 3, 4, 5).to(memory_format=LAST).cuda()
    assert x.is_contiguous(memory_format=LAST)
    assert x.to(memory_format=LAST) is x


def test_a_tensor_gets_its_layout_on_the_host() -> None:
    x = torch.rand(2, 3, 4, 5, device="cuda")
    there = x.to("cpu", memory_format=LAST)
    assert there.is_contiguous(memory_format=LAST)
    assert torch.equal(there, x.cpu())


def test_a_network_is_trained() -> None:
    network = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.GELU()).cuda().to(memory_format=LAST)
    x = torch.rand(2, 3, 8, 8).cuda().contiguous(memory_format=LAST).requires_grad_()
    network(x).sum().backward()
    assert x.grad is not None
    assert x.grad.shape == x.shape
    on_host = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.GELU())
    on_host.load_state_dict(network.cpu().state_dict())
    assert torch.allclose(on_host(x.detach().cpu()), network(x.detach().cpu()))


@pytest.mark.platforms("npu", "simulated-npu")
@pytest.mark.long_on("npu")
def test_it_is_said_once(platform: Platform) -> None:
    moves = "[x.to(memory_format=torch.channels_last) for _ in range(3)]"
    done = platform.run(f"import torch; x = torch.rand(2, 3, 4, 5, device='cuda'); {moves}")
    assert done.stderr.count("morph: npu has no channels_last: tensors stay contiguous") == 1


PRODUCTS = {
    "spmm": lambda a, x: torch.spmm(a, x),
    "mm": lambda a, x: torch.mm(a, x),
    "matmul": lambda a, x: a @ x,
    "sparse.mm": lambda a, x: torch.sparse.mm(a, x),
    "sparse.addmm": lambda a, x: torch.sparse.addmm(torch.ones(3, 4).to(x.device), a, x, beta=2, alpha=3),
    "addmm": lambda a, x: torch.addmm(torch.ones(3, 4).to(x.device), a, x),
}


def sparse() -> torch.Tensor:
    """Returns a matrix of three rows with an empty row and a duplicate entry."""
    indices = torch.tensor([[0, 0, 2, 2], [1, 4, 0, 0]])
    return torch.sparse_coo_tensor(indices, torch.tensor([1.0, 2.0, 3.0, 4.0]), (3, 5), check_invariants=True)


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_product_and_its_gradient_are_the_hosts(product: str) -> None:
    host = torch.arange(20.0).reshape(5, 4).requires_grad_()
    moved = host.detach().cuda().requires_grad_()
    expected = PRODUCTS[product](sparse(), host)
    result = PRODUCTS[product](sparse().cuda(), moved)
    assert result.is_cuda
    assert torch.allclose(result.cpu(), expected)
    weights = torch.arange(12.0).reshape(3, 4)
    (expected * weights).sum().backward()
    (result * weights.cuda()).sum().backward()
    assert torch.allclose(moved.grad.cpu(), host.grad)


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(RuntimeError):
        torch.spmm(sparse().cuda(), torch.ones(4, 4, device="cuda"))


def test_nothing_that_is_overwritten_is_read() -> None:
    nans = torch.full((3, 4), torch.nan, device="cuda")
    result = torch.sparse.addmm(nans, sparse().cuda(), torch.ones(5, 4, device="cuda"), beta=0)
    assert not result.isnan().any()


@pytest.mark.platforms("npu")
def test_a_sparse_matrixs_own_gradient_is_refused() -> None:
    matrix = sparse().cuda().requires_grad_()
    with pytest.raises(NotImplementedError, match="gradient of a sparse matrix does not exist on 'npu'"):
        (matrix @ torch.ones(5, 4, device="cuda")).sum().backward()

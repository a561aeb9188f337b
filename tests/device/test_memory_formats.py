"""channels_last on every backend: where the vendor lacks it, values are equal and tensors contiguous."""

from __future__ import annotations

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

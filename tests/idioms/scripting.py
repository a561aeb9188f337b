"""TorchScript: scripts and traces that name CUDA."""

from typing import Optional

import torch
import torch.nn as nn


class Shift(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) + torch.ones(2, device=x.device)


@torch.jit.script
def scripted_when_imported(x: torch.Tensor) -> torch.Tensor:
    return x.cuda() + torch.zeros(2, device="cuda")


def _zeros() -> torch.Tensor:
    return torch.zeros(2, device="cuda")


def _zeros_of_a_device() -> torch.Tensor:
    return torch.zeros([2], dtype=torch.float32, device=torch.device("cuda:0"))


def _moved(x: torch.Tensor) -> torch.Tensor:
    return x.to("cuda")


def _moved_to_a_device(x: torch.Tensor) -> torch.Tensor:
    return x.to(torch.device("cuda"))


def _moved_by_cuda(x: torch.Tensor) -> torch.Tensor:
    return x.cuda()


def _of_a_device(device: torch.device) -> torch.Tensor:
    return torch.ones(1, device=device)


def _branch(x: torch.Tensor) -> int:
    if x.is_cuda:
        return 1
    return 0


def _type(x: torch.Tensor) -> str:
    return x.device.type


def _maybe(x: torch.Tensor, device: Optional[torch.device] = None) -> torch.Tensor:
    return x if device is None else x.to(device)


def scripted_module_is_optimized():
    optimized = torch.jit.optimize_for_inference(torch.jit.script(Shift().cuda().eval()))
    assert optimized(torch.ones(1, 2, device="cuda")).is_cuda


def traced_module():
    traced = torch.jit.trace(Shift().cuda(), torch.ones(1, 2, device="cuda"))
    assert traced(torch.zeros(1, 2, device="cuda")).is_cuda


EXPRESSIONS = {
    "scripted_module_is_frozen": lambda: (
        torch.jit.freeze(torch.jit.script(Shift().cuda().eval()))(torch.ones(1, 2, device="cuda")).is_cuda
    ),
    "traced_move": lambda: torch.jit.trace(lambda x: x.cuda() + 1, torch.ones(2))(torch.zeros(2)).is_cuda,
    "scripted_decorator": lambda: scripted_when_imported(torch.ones(2)).is_cuda,
    "scripted_factory": lambda: torch.jit.script(_zeros)().is_cuda,
    "scripted_factory_of_a_device": lambda: torch.jit.script(_zeros_of_a_device)().get_device() == 0,
    "scripted_move": lambda: torch.jit.script(_moved)(torch.ones(2)).is_cuda,
    "scripted_move_to_a_device": lambda: torch.jit.script(_moved_to_a_device)(torch.ones(2)).is_cuda,
    "scripted_cuda": lambda: torch.jit.script(_moved_by_cuda)(torch.ones(2)).is_cuda,
    "scripted_argument": lambda: torch.jit.script(_of_a_device)(torch.device("cuda")).is_cuda,
    "scripted_optional_argument": lambda: (
        torch.jit.script(_maybe)(torch.ones(1), torch.device("cuda")).is_cuda
    ),
    "scripted_branch": lambda: torch.jit.script(_branch)(torch.ones(1, device="cuda")) == 1,
    "scripted_device_type": lambda: torch.jit.script(_type)(torch.ones(1, device="cuda")) == "cuda",
    "scripted_module": lambda: torch.jit.script(Shift().cuda())(torch.ones(1, 2, device="cuda")).is_cuda,
    "scripted_module_moves": lambda: torch.jit.script(Shift()).cuda()(torch.ones(1, 2).cuda()).is_cuda,
    "scripting_is_seen": lambda: not torch.jit.is_scripting() and torch.jit.script(_branch).graph is not None,
}

"""`torch.compile` in separate processes: its caches, and devices without inductor's compiler."""

import pathlib

import pytest

from tests.platforms import Platform

REMEMBERED = """
import torch
from torch._dynamo.utils import counters

@torch.library.custom_op("morph_tests::shift", mutates_args=())
def shift(tensor: torch.Tensor) -> torch.Tensor:
    assert tensor.is_cuda
    return tensor + 1

shift.register_fake(lambda tensor: torch.empty_like(tensor))
offsets = torch.arange(3.0, device="cuda")
noise = lambda: torch.rand(3, device="cuda").floor()
step = torch.compile(lambda tensor: (shift(tensor) + noise() + offsets, tensor.cpu()))
result, back = step(torch.zeros(3, device="cuda"))
assert (result.device.type, back.device.type, result.tolist()) == ("cuda", "cpu", [1, 2, 3])
print(counters["inductor"]["fxgraph_cache_hit"])
"""
OF_ANOTHER_MORPH = """
import torch
from morph.software import compilation
compilation._version = lambda: "another"
"""
WITHOUT_COMPILER = """
import torch
model, ones = torch.nn.Linear(2, 2).cuda(), torch.ones(1, 2, device="cuda")
for options in ({}, {"backend": "inductor"}, {"mode": "max-autotune"}):
    torch.compiler.reset()
    torch.testing.assert_close(torch.compile(model, **options)(ones), model(ones))
torch.compile(model)(ones).sum().backward()
print(model.weight.grad.tolist())
"""


@pytest.mark.long
@pytest.mark.platforms("cpu")
def test_compiled_code_is_found_again(platform: Platform, tmp_path: pathlib.Path) -> None:
    environment = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    hits = [platform.run(REMEMBERED, environment=environment).stdout.split() for _ in range(2)]
    assert hits == [["0"], ["1"]]
    other = platform.run(OF_ANOTHER_MORPH + REMEMBERED, environment=environment)
    assert other.stdout.split() == ["0"], "what another morph, or a GPU, has left is not taken"


@pytest.mark.long
@pytest.mark.platforms("npu", "simulated-npu", "simulated-xpu")
def test_without_a_compiler_graphs_run_as_they_are(platform: Platform) -> None:
    done = platform.run(WITHOUT_COMPILER)
    assert done.stdout == "[[1.0, 1.0], [1.0, 1.0]]\n"
    assert done.stderr.count(f"morph: inductor has no compiler for {platform.device_type} here") == 1

"""Dynamo, export and fx: traced code does the same as eager code."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.platforms import ACCELERATORS, SIMULATED, Platform


def traced(body: Callable[[torch.Tensor], torch.Tensor]) -> float:
    return torch.compile(body, backend="eager", fullgraph=True)(torch.ones(1, device="cuda")).item()


@pytest.mark.platforms(*ACCELERATORS)
def test_predicates_are_constants() -> None:
    assert traced(lambda tensor: tensor + 1 if tensor.is_cuda else tensor) == 2
    assert traced(lambda tensor: tensor + 1 if torch.cuda.is_available() else tensor) == 2
    assert traced(lambda tensor: tensor * torch.cuda.device_count()) == torch.cuda.device_count()
    assert traced(lambda tensor: tensor + torch.cuda.current_device()) == 1


def test_streams_events_and_devices_stay_in_the_graph() -> None:
    def streams(tensor: torch.Tensor) -> torch.Tensor:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            result = tensor + 1
        torch.cuda.current_stream().wait_stream(stream)
        return result

    def devices(tensor: torch.Tensor) -> torch.Tensor:
        with torch.cuda.device(0):
            return tensor.to(torch.device("cuda:0")) + torch.ones(1, device="cuda")

    assert traced(streams) == 2
    assert traced(devices) == 2


def test_ranges_around_a_break_in_the_graph() -> None:
    @torch.compile(backend="eager")
    def step(tensor: torch.Tensor) -> torch.Tensor:
        torch.cuda.nvtx.range_push("step")
        torch._dynamo.graph_break()
        result = tensor + 1
        torch.cuda.nvtx.range_pop()
        return result

    assert step(torch.ones(1, device="cuda")).item() == 2


def test_the_interface_of_cuda_is_the_devices() -> None:
    from torch._dynamo.device_interface import get_interface_for_device

    own = get_interface_for_device(torch.device("cuda"))
    assert get_interface_for_device("cuda") is get_interface_for_device("cuda:0") is own


@pytest.mark.long_on(*SIMULATED)
def test_a_compiled_step_trains_as_one_that_runs() -> None:
    def losses(wrap: Callable[..., Any]) -> list[float]:
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 4).cuda()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

        def step(tensor: torch.Tensor) -> torch.Tensor:
            optimizer.zero_grad()
            loss = model(tensor).square().sum()
            loss.backward()
            optimizer.step()
            return loss.detach()

        run = wrap(step)
        results = [run(torch.ones(2, 4, device="cuda")).item() for _ in range(2)]
        return [*results, step(torch.ones(2, 4, device="cuda")).item()]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of Dynamo about what it imports and traces
        compiled = losses(lambda step: torch.compile(step, backend="eager"))
    torch.testing.assert_close(compiled, losses(lambda step: step), rtol=1e-4, atol=1e-5)


def test_export_and_fx() -> None:
    class Module(torch.nn.Module):
        def forward(self, tensor: torch.Tensor) -> torch.Tensor:
            return tensor.to("cuda") + torch.ones(1, device="cuda")

    for make in (
        lambda module: torch.export.export(module, (torch.ones(1),)).module(),
        torch.fx.symbolic_trace,
    ):
        result = make(Module())(torch.ones(1))
        assert result.is_cuda
        assert result.item() == 2


@pytest.mark.long_on(*SIMULATED)
@pytest.mark.platforms("simulated-npu", "simulated-mlu", "simulated-musa")  # torch_npu has its own search
def test_torch_finds_no_device_of_tritons_own(platform: Platform) -> None:
    program = """
        import sys, torch._inductor, types
        sys.modules["triton"] = triton = types.ModuleType("triton")
        triton.backends = types.SimpleNamespace(backends={})
        from torch.utils._triton import has_triton
        print(has_triton())
    """
    assert platform.run(textwrap.dedent(program)).stdout.splitlines()[-1] == "False"

"""What of apex can be captured on CUDA: a capture asks the device for no value."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.later import Later, later

amp_C = Later("amp_C")
optimizers = Later("apex.optimizers")
SoftmaxCrossEntropyLoss = Later("apex.contrib.xentropy", "SoftmaxCrossEntropyLoss")
multi_tensor_applier = Later("apex.multi_tensor_apply", "multi_tensor_applier")
FusedLayerNorm, FusedRMSNorm = later("apex.normalization", "FusedLayerNorm", "FusedRMSNorm")
fused_apply_rotary_pos_emb = Later("apex.transformer.functional", "fused_apply_rotary_pos_emb")


pytestmark = pytest.mark.platforms("cpu", "simulated-xpu")


def random(*shape: int) -> Tensor:
    return torch.randn(shape, device="cuda").requires_grad_()


def captured(work: Callable[[], Any]) -> tuple[torch.cuda.CUDAGraph, Any]:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = work()
    return graph, result


def functions() -> dict[str, tuple[Callable[[], Tensor], tuple[Tensor, ...]]]:
    """Lists functions, and the tensors that they have gradients of."""
    x, scores, turned = random(4, 8), random(4, 16), random(3, 2, 2, 16)
    layers: dict[str, nn.Module] = {
        "layer norm": FusedLayerNorm(8).cuda(),
        "rms norm": FusedRMSNorm(8).cuda(),
    }
    found = {name: (lambda layer=layer: layer(x), (x, *layer.parameters())) for name, layer in layers.items()}
    labels, angles = torch.arange(4, device="cuda"), torch.rand(3, 1, 1, 16, device="cuda")
    found["loss"] = lambda: SoftmaxCrossEntropyLoss.apply(scores, labels), (scores,)
    found["rotary"] = lambda: fused_apply_rotary_pos_emb(turned, angles), (turned,)
    return found


def test_a_replay_computes_what_the_call_does() -> None:
    for name, (function, inputs) in functions().items():

        def work(function: Any = function, inputs: Any = inputs) -> list[Tensor]:
            out = function()
            return [out.detach(), *torch.autograd.grad(out.square().sum(), inputs)]

        graph, results = captured(work)
        graph.replay()
        torch.testing.assert_close(results, work(), msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize("name", ["FusedAdam"])
def test_a_step_of_an_optimizer(name: str) -> None:
    models = [nn.Linear(4, 3).cuda()]
    models.append(copy.deepcopy(models[0]))
    both = [getattr(optimizers, name)(model.parameters(), lr=0.1, capturable=True) for model in models]
    for model, optimizer in zip(models, both, strict=True):
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimizer.step()
    graph, _ = captured(both[0].step)
    for factor in (1, 2, 3):
        for model in models:
            for parameter in model.parameters():
                assert parameter.grad is not None
                parameter.grad.fill_(factor)
        graph.replay()
        both[1].step()
    for one, other in zip(*(model.parameters() for model in models), strict=True):
        torch.testing.assert_close(one, other)


def test_functions_of_many_tensors() -> None:
    flag, tensors = (
        torch.zeros(1, dtype=torch.int32, device="cuda"),
        [random(5).detach(), random(2, 3).detach()],
    )
    results = [torch.zeros_like(each) for each in tensors]

    def work() -> Tensor:
        multi_tensor_applier(amp_C.multi_tensor_scale, flag, [tensors, results], 2.0)
        norm: Tensor = multi_tensor_applier(amp_C.multi_tensor_l2norm, flag, [tensors], False)[0]
        return norm

    graph, norm = captured(work)
    assert not any(each.any() for each in results)
    tensors[0].fill_(float("inf"))
    graph.replay()
    assert (flag.item(), norm.item()) == (1, float("inf"))
    torch.testing.assert_close(results[1], tensors[1] * 2)

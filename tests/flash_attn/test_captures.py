"""The functions of flash_attn that can be captured on CUDA: a capture asks the device for no value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.flash_attn.reference import integers
from tests.later import Later

flash_attn = Later("flash_attn")
cute = Later("flash_attn.cute")
flash_attn_2_cuda = Later("flash_attn_2_cuda")
flash_attn_interface = Later("flash_attn_interface")
apply_rotary_emb = Later("flash_attn.layers.rotary", "apply_rotary_emb")
CrossEntropyLoss = Later("flash_attn.losses.cross_entropy", "CrossEntropyLoss")
FusedDense = Later("flash_attn.ops.fused_dense", "FusedDense")
rms_norm = Later("flash_attn.ops.rms_norm", "rms_norm")


pytestmark = pytest.mark.platforms("cpu", "simulated-xpu")
HEADS, SIZE = 2, 64


def random(*shape: int) -> Tensor:
    return torch.randn(shape, device="cuda").to(torch.bfloat16).requires_grad_()


def of_batches() -> tuple[Tensor, ...]:
    return tuple(random(2, 5, HEADS, SIZE) for _ in range(3))


def of_sequences() -> tuple[Tensor, ...]:
    return tuple(random(9, HEADS, SIZE) for _ in range(3))


BOUNDS = {"cu_seqlens_q": (0, 3, 9), "cu_seqlens_k": (0, 3, 9)}
LONGEST = {"max_seqlen_q": 6, "max_seqlen_k": 6}


def varlen(function: Callable[..., Any], *tensors: Tensor, **options: Any) -> Any:
    bounds = {name: integers(*values) for name, values in BOUNDS.items()}
    return lambda: function(*tensors, **bounds, **LONGEST, **options)


def first(result: Any) -> Tensor:
    return result if isinstance(result, Tensor) else result[0]


def differentiated(function: Callable[[], Any], tensors: tuple[Tensor, ...]) -> Callable[[], list[Tensor]]:
    def work() -> list[Tensor]:
        out = first(function())
        return [out.detach(), *torch.autograd.grad(out.float().square().sum(), tensors)]

    return work


def calls() -> dict[str, Callable[[], list[Tensor]]]:
    """Lists calls without arguments, each with its gradients."""
    q, k, v = of_batches()
    rows = of_sequences()
    qkv, all_rows = random(2, 5, 3, HEADS, SIZE), random(9, 3, HEADS, SIZE)
    cos, sin, logits = torch.rand(2, 5, 16, device="cuda").bfloat16().unbind() + (random(6, 32),)
    labels, weight, x = torch.arange(6, device="cuda"), random(SIZE), random(3, SIZE)
    dense = FusedDense(SIZE, 8, device="cuda", dtype=torch.bfloat16)
    of_all = {"cu_seqlens": integers(0, 3, 9), "max_seqlen": 6}
    return {
        "batch": differentiated(lambda: flash_attn.flash_attn_func(q, k, v, causal=True), (q, k, v)),
        "window": differentiated(lambda: flash_attn.flash_attn_func(q, k, v, window_size=(2, 0)), (q, k, v)),
        "packed": differentiated(lambda: flash_attn.flash_attn_qkvpacked_func(qkv), (qkv,)),
        "varlen": differentiated(varlen(flash_attn.flash_attn_varlen_func, *rows, causal=True), rows),
        "varlen packed": differentiated(
            lambda: flash_attn.flash_attn_varlen_qkvpacked_func(all_rows, **of_all), (all_rows,)
        ),
        "3": differentiated(lambda: flash_attn_interface.flash_attn_func(q, k, v, causal=True), (q, k, v)),
        "3 varlen": differentiated(varlen(flash_attn_interface.flash_attn_varlen_func, *rows), rows),
        "4": differentiated(lambda: cute.flash_attn_func(q, k, v, causal=True), (q, k, v)),
        "4 varlen": differentiated(varlen(cute.flash_attn_varlen_func, *rows), rows),
        "rotary": differentiated(lambda: apply_rotary_emb(q, cos, sin), (q,)),
        "rms": differentiated(lambda: rms_norm(x, weight, 1e-6), (x, weight)),
        "loss": differentiated(lambda: CrossEntropyLoss()(logits, labels), (logits,)),
        "dense": differentiated(lambda: dense(x), (x, dense.weight, dense.bias)),
    }


def captured(work: Callable[[], Any]) -> tuple[torch.cuda.CUDAGraph, Any]:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = work()
    return graph, result


def test_a_replay_computes_what_the_call_does() -> None:
    for name, work in calls().items():
        graph, results = captured(work)
        graph.replay()
        torch.testing.assert_close(
            results, work(), rtol=0, atol=0, msg=lambda text, name=name: f"{name}: {text}"
        )


def cache() -> tuple[Tensor, Tensor]:
    keys, values = torch.randn(2, 4, 256, HEADS, SIZE, device="cuda").bfloat16()
    return keys, values


def in_cache(function: Callable[..., Any], table: str, **options: Any) -> None:
    """Checks a call that adds tokens to a cache in pages, whose lengths grow between the replays."""
    (keys, values), (q, k, v) = cache(), torch.randn(3, 2, 1, HEADS, SIZE, device="cuda").bfloat16()
    own = keys.clone(), values.clone()
    lengths, pages = integers(3, 250), integers(0, 2, 1, 3).view(2, 2)
    places = {"cache_seqlens": lengths, table: pages, "causal": True, **options}
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    graph, result = captured(lambda: first(function(q, keys, values, k, v, **places)))
    assert torch.cuda.max_memory_allocated() - before < keys.nbytes, "a capture copies nothing"
    assert torch.equal(keys, own[0]), "a capture computes nothing"
    for _ in range(3):
        graph.replay()
        expected = first(function(q, *own, k, v, **places))
        torch.testing.assert_close(result, expected, rtol=0, atol=0)
        assert torch.equal(keys, own[0])
        assert torch.equal(values, own[1])
        lengths += 5


def test_a_cache_grows_between_replays() -> None:
    in_cache(flash_attn.flash_attn_with_kvcache, "block_table", return_softmax_lse=True)


def test_a_cache_of_flash_attn_3_grows_between_replays() -> None:
    in_cache(flash_attn_interface.flash_attn_with_kvcache, "page_table")


def test_the_functions_of_the_extension_are_captured() -> None:
    q, k, v = (each.detach() for each in of_sequences())
    bounds = integers(0, 3, 9)
    options = 6, 6, 0.0, 0.125, False, True, -1, -1, 0.0, False, None
    where = bounds, bounds, None, None, None, None
    graph, (out, lse, *_) = captured(lambda: flash_attn_2_cuda.varlen_fwd(q, k, v, None, *where, *options))
    graph.replay()
    expected, sums, *_ = flash_attn_2_cuda.varlen_fwd(q, k, v, None, *where, *options)
    torch.testing.assert_close((out, lse), (expected, sums), rtol=0, atol=0)
    inputs = torch.ones_like(q), q, k, v, expected, sums, None, None, None, bounds, bounds, None
    rest = 6, 6, 0.0, 0.125, False, True, -1, -1, 0.0, False, None, None
    graph, grads = captured(lambda: flash_attn_2_cuda.varlen_bwd(*inputs, *rest))
    graph.replay()
    torch.testing.assert_close(grads, flash_attn_2_cuda.varlen_bwd(*inputs, *rest), rtol=0, atol=0)

"""What of flash_attn, apex and xformers can be captured on CUDA: a capture asks the device for no value."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.flash_attn.reference import first, integers
from tests.later import Later, later

flash_attn = Later("flash_attn")
cute = Later("flash_attn.cute")
flash_attn_2_cuda = Later("flash_attn_2_cuda")
flash_attn_interface = Later("flash_attn_interface")
apply_rotary_emb = Later("flash_attn.layers.rotary", "apply_rotary_emb")
CrossEntropyLoss = Later("flash_attn.losses.cross_entropy", "CrossEntropyLoss")
FusedDense = Later("flash_attn.ops.fused_dense", "FusedDense")
rms_norm = Later("flash_attn.ops.rms_norm", "rms_norm")
amp_C = Later("amp_C")
SoftmaxCrossEntropyLoss = Later("apex.contrib.xentropy", "SoftmaxCrossEntropyLoss")
multi_tensor_applier = Later("apex.multi_tensor_apply", "multi_tensor_applier")
FusedLayerNorm, FusedRMSNorm = later("apex.normalization", "FusedLayerNorm", "FusedRMSNorm")
FusedAdam = Later("apex.optimizers", "FusedAdam")
fused_apply_rotary_pos_emb = Later("apex.transformer.functional", "fused_apply_rotary_pos_emb")
fmha = Later("xformers.ops.fmha")
memory_efficient_attention = Later("xformers.ops", "memory_efficient_attention")
memory_efficient_attention_forward = Later("xformers.ops", "memory_efficient_attention_forward")


pytestmark = pytest.mark.platforms("cpu", "simulated-xpu")
HEADS, SIZE = 2, 64


def random(*shape: int, dtype: torch.dtype = torch.bfloat16) -> Tensor:
    return torch.randn(shape, device="cuda").to(dtype).requires_grad_()


def of_batches() -> tuple[Tensor, ...]:
    return tuple(random(2, 5, HEADS, SIZE) for _ in range(3))


def of_sequences() -> tuple[Tensor, ...]:
    return tuple(random(9, HEADS, SIZE) for _ in range(3))


BOUNDS = {"cu_seqlens_q": (0, 3, 9), "cu_seqlens_k": (0, 3, 9)}
LONGEST = {"max_seqlen_q": 6, "max_seqlen_k": 6}


def varlen(function: Callable[..., Any], *tensors: Tensor, **options: Any) -> Any:
    bounds = {name: integers(*values) for name, values in BOUNDS.items()}
    return lambda: function(*tensors, **bounds, **LONGEST, **options)


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
    layers = [FusedLayerNorm(SIZE).cuda(), FusedRMSNorm(SIZE).cuda()]
    row, scores, turned = (
        random(*shape, dtype=torch.float32) for shape in ((4, SIZE), (6, 32), (3, 2, 2, 16))
    )
    angles = torch.rand(3, 1, 1, 16, device="cuda")
    found = {
        "batch": (lambda: flash_attn.flash_attn_func(q, k, v, causal=True), (q, k, v)),
        "window": (lambda: flash_attn.flash_attn_func(q, k, v, window_size=(2, 0)), (q, k, v)),
        "packed": (lambda: flash_attn.flash_attn_qkvpacked_func(qkv), (qkv,)),
        "varlen": (varlen(flash_attn.flash_attn_varlen_func, *rows, causal=True), rows),
        "varlen packed": (
            lambda: flash_attn.flash_attn_varlen_qkvpacked_func(all_rows, **of_all),
            (all_rows,),
        ),
        "3": (lambda: flash_attn_interface.flash_attn_func(q, k, v, causal=True), (q, k, v)),
        "3 varlen": (varlen(flash_attn_interface.flash_attn_varlen_func, *rows), rows),
        "4": (lambda: cute.flash_attn_func(q, k, v, causal=True), (q, k, v)),
        "4 varlen": (varlen(cute.flash_attn_varlen_func, *rows), rows),
        "rotary": (lambda: apply_rotary_emb(q, cos, sin), (q,)),
        "rms": (lambda: rms_norm(x, weight, 1e-6), (x, weight)),
        "loss": (lambda: CrossEntropyLoss()(logits, labels), (logits,)),
        "dense": (lambda: dense(x), (x, dense.weight, dense.bias)),
        "apex layer norm": (lambda: layers[0](row), (row, *layers[0].parameters())),
        "apex rms norm": (lambda: layers[1](row), (row, *layers[1].parameters())),
        "apex loss": (lambda: SoftmaxCrossEntropyLoss.apply(scores, labels), (scores,)),
        "apex rotary": (lambda: fused_apply_rotary_pos_emb(turned, angles), (turned,)),
    }
    return {name: differentiated(*call) for name, call in found.items()}


def captured(work: Callable[[], Any]) -> tuple[torch.cuda.CUDAGraph, Any]:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = work()
    return graph, result


def test_a_replay_computes_what_the_call_does() -> None:
    for name, work in calls().items():
        work()  # a thread's first product of matrices is not captured
        graph, results = captured(work)
        graph.replay()
        torch.testing.assert_close(
            results, work(), rtol=0, atol=0, msg=lambda text, name=name: f"{name}: {text}"
        )


@pytest.mark.parametrize("version", ["2", "3"])
def test_a_cache_in_pages_grows_between_replays(version: str) -> None:
    """A call that adds tokens to a cache, whose lengths grow between the replays."""
    table, options = ("block_table", {"return_softmax_lse": True}) if version == "2" else ("page_table", {})
    function = (flash_attn if version == "2" else flash_attn_interface).flash_attn_with_kvcache
    keys, values = torch.randn(2, 4, 256, HEADS, SIZE, device="cuda").bfloat16()
    q, k, v = torch.randn(3, 2, 1, HEADS, SIZE, device="cuda").bfloat16()
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


def test_a_step_of_an_optimizer() -> None:
    models = [nn.Linear(4, 3).cuda()]
    models.append(copy.deepcopy(models[0]))
    both = [FusedAdam(model.parameters(), lr=0.1, capturable=True) for model in models]
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
        [torch.randn(5, device="cuda"), torch.randn(2, 3, device="cuda")],
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


def test_lengths_of_sequences_of_xformers_change_between_replays() -> None:
    inputs = tuple(random(1, 9, 2, 32) for _ in range(3))
    bias = fmha.attn_bias.BlockDiagonalCausalMask.from_seqlens([3, 6])

    work = differentiated(lambda: memory_efficient_attention(*inputs, attn_bias=bias), inputs)
    graph, results = captured(work)
    for lengths in ([3, 6], [5, 4]):
        bias.q_seqinfo.from_seqlens_inplace(lengths)
        graph.replay()
        torch.testing.assert_close(results, work(), rtol=0, atol=0)


def test_a_cache_of_xformers_grows_between_replays() -> None:
    query, (key, value) = random(1, 2, 2, 32), torch.randn(2, 1, 32, 2, 32, device="cuda").bfloat16()
    bias = fmha.attn_bias.BlockDiagonalCausalWithOffsetPaddedKeysMask.from_seqlens(
        q_seqlen=[1, 1], kv_padding=16, kv_seqlen=[3, 12]
    )
    with torch.no_grad():
        graph, result = captured(
            lambda: memory_efficient_attention_forward(query, key, value, attn_bias=bias)
        )
    for lengths in ([3, 12], [9, 1]):
        bias.k_seqinfo.seqlen.copy_(torch.tensor(lengths))
        graph.replay()
        parts = [slice(0, lengths[0]), slice(16, 16 + lengths[1])]
        expected = [
            memory_efficient_attention_forward(query[:, [index]], key[:, own], value[:, own])
            for index, own in enumerate(parts)
        ]
        torch.testing.assert_close(result, torch.cat(expected, 1), rtol=0.02, atol=0.02)

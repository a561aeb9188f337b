"""Rotary embedding, norms, losses, activations and dense layers against float64."""

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.flash_attn.reference import check, detached, distance, rotated, tensors
from tests.later import Later, later

rotary_layers = Later("flash_attn.layers.rotary")
CrossEntropyLoss = Later("flash_attn.losses.cross_entropy", "CrossEntropyLoss")
swiglu = Later("flash_attn.ops.activations", "swiglu")
dense = Later("flash_attn.ops.fused_dense")
layer_norms = Later("flash_attn.ops.layer_norm")
rms_norms = Later("flash_attn.ops.rms_norm")
layer_norm_fn, rms_norm_fn = later("flash_attn.ops.triton.layer_norm", "layer_norm_fn", "rms_norm_fn")


def angles(positions: int, half: int) -> tuple[Tensor, Tensor]:
    turn = torch.rand(positions, half, generator=torch.Generator("cpu").manual_seed(0)) * 6
    return turn.cos().to("cuda"), turn.sin().to("cuda")


@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary(interleaved):
    cos, sin = angles(20, 8)
    inputs = tensors(0, (2, 7, 3, 24), dtype=torch.bfloat16)
    offsets = torch.tensor([3, 11], device="cuda")
    places = offsets.cpu()[:, None] + torch.arange(7)
    for offset, where in ((0, torch.arange(7)[None]), (5, torch.arange(5, 12)[None]), (offsets, places)):
        check(
            lambda x, offset=offset: rotary_layers.apply_rotary_emb(
                x, cos, sin, interleaved, seqlen_offsets=offset
            ),
            lambda x, dtype, where=where: rotated(x, cos.cpu()[where], sin.cpu()[where], interleaved),
            inputs,
        )


def test_rotary_in_place_packed_and_past_the_last_position():
    cos, sin = angles(12, 8)
    (x,) = detached(0, (2, 6, 3, 16), dtype=torch.float32)
    expected = rotary_layers.apply_rotary_emb(x, cos, sin)
    bounds = torch.tensor([0, 6, 12], dtype=torch.int32, device="cuda")
    packed = rotary_layers.apply_rotary_emb(x.flatten(0, 1), cos, sin, cu_seqlens=bounds, max_seqlen=6)
    assert distance(packed.view(x.shape), expected) < 1e-6
    own = x.clone()
    assert rotary_layers.apply_rotary_emb(own, cos, sin, inplace=True).data_ptr() == own.data_ptr()
    assert torch.equal(own, expected)
    beyond = rotary_layers.apply_rotary_emb(x, cos, sin, seqlen_offsets=torch.tensor([8, 12], device="cuda"))
    assert torch.equal(beyond[1], x[1])
    assert torch.equal(beyond[0, 4:], x[0, 4:])
    assert not torch.equal(beyond[0, :4], x[0, :4])


@pytest.mark.parametrize("scale_base", [None, 16.0])
def test_rotary_module(scale_base):
    rotary = rotary_layers.RotaryEmbedding(16, scale_base=scale_base, device="cuda")
    (qkv,) = detached(0, (2, 9, 3, 2, 32), dtype=torch.float32)
    fewer = grouped(qkv)
    turn = torch.outer(torch.arange(9.0), 10000.0 ** -(torch.arange(0, 16, 2) / 16)).double()
    grow = torch.ones(9, 8).double()
    if scale_base is not None:
        grow = ((torch.arange(0, 16, 2) + 6.4) / 22.4).double() ** (
            (torch.arange(9) - 4)[:, None] / scale_base
        )
    expected = qkv.cpu().double()
    for index, scale in ((0, grow), (1, 1 / grow)):
        expected[:, :, index] = rotated(
            expected[:, :, index], (turn.cos() * scale)[None], (turn.sin() * scale)[None], False
        )
    apart = rotary(qkv[:, :, 0].clone(), qkv[:, :, 1:].clone())
    together = rotary(qkv)
    assert together.data_ptr() == qkv.data_ptr()
    assert distance(qkv, expected) < 1e-5
    assert torch.equal(apart[0], qkv[:, :, 0])
    assert torch.equal(apart[1], qkv[:, :, 1:])
    again = rotary_layers.RotaryEmbedding(16, scale_base=scale_base, device="cuda")(fewer, num_heads_q=2)
    assert distance(again, grouped(expected)) < 1e-5


def grouped(qkv: Tensor) -> Tensor:
    return torch.cat([qkv[:, :, 0], qkv[:, :, 1, :1], qkv[:, :, 2, :1]], 2)


def normalized(x: Tensor, weight: Tensor, bias: Tensor | None, rms: bool, eps: float = 1e-6) -> Tensor:
    x = x if rms else x - x.mean(-1, keepdim=True)
    y = x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * weight
    return y if bias is None else y + bias


@pytest.mark.parametrize("rms", [False, True])
def test_norms(rms):
    function = rms_norm_fn if rms else layer_norm_fn
    for dtype, count in itertools.product((torch.float32, torch.bfloat16), (0, 1, 2)):
        inputs = tensors(0, (3, 5, 32), (32,), (32,), *[(3, 5, 32)] * count, dtype=dtype)
        check(
            lambda x, w, b, *rest: function(x, w, b, *rest, eps=1e-6),
            lambda x, w, b, *rest, dtype: normalized(x + sum(rest), w, b, rms),
            inputs,
            (dtype, count),
        )


def test_norms_return_what_they_are_asked_for():
    x, residual, w, b, w1 = tensors(0, (4, 6, 16), (4, 6, 16), (16,), (16,), (16,), dtype=torch.bfloat16)
    out, second, total = layer_norm_fn(x, w, b, residual.float(), weight1=w1, prenorm=True)
    assert (out.dtype, second.dtype, total.dtype) == (torch.bfloat16, torch.bfloat16, torch.float32)
    assert distance(total, x.cpu().float() + residual.cpu().float()) == 0
    out, kept, none = layer_norm_fn(x, w, b, dropout_p=0.5, return_dropout_mask=True)
    assert none is None
    dropped = x.cpu().double() * kept.cpu() * 2
    assert 0.3 < kept.float().mean() < 0.7
    assert distance(out, normalized(dropped, w.cpu().double(), b.cpu().double(), False)) < 0.06
    out, total = layer_norms.DropoutAddLayerNorm(16, prenorm=True, p=0.5, device="cuda").eval()(x, residual)
    assert distance(total, (x + residual)) < 0.02
    assert (
        distance(
            rms_norms.RMSNorm(16, device="cuda")(x), functional.rms_norm(x.double().cpu(), (16,), eps=1e-5)
        )
        < 0.02
    )
    out, mask = layer_norms.dropout_add_layer_norm(x, residual, w, b, 0.5, 1e-6, return_dropout_mask=True)
    assert mask.dtype == torch.uint8
    dropped = x.cpu().double() * mask.cpu() * 2 + residual.cpu().double()
    assert distance(out, normalized(dropped, w.cpu().double(), b.cpu().double(), False)) < 0.06


def entropy(logits: Tensor, labels: Tensor, smoothing: float, scale: float, z: float) -> Tensor:
    logits = logits * scale
    lse = logits.logsumexp(-1)
    own = logits.gather(1, labels.clamp(min=0)[:, None])[:, 0]
    losses = lse - (1 - smoothing) * own - smoothing * logits.mean(-1) + z * lse.square()
    return losses.masked_fill(labels == -100, 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_cross_entropy(dtype):
    labels = torch.tensor([3, 0, -100, 16, 7], device="cuda")
    for smoothing, scale, z in itertools.product((0.0, 0.1), (1.0, 0.7), (0.0, 0.01)):
        (logits,) = tensors(0, (5, 17), dtype=dtype)
        options: dict[str, Any] = {"label_smoothing": smoothing, "logit_scale": scale, "lse_square_scale": z}
        exact = logits.detach().cpu().double().requires_grad_()
        expected = entropy(exact, labels.cpu(), smoothing, scale, z)
        for reduction, wanted in (("none", expected), ("sum", expected.sum()), ("mean", expected.sum() / 4)):
            loss = CrossEntropyLoss(reduction=reduction, **options)(logits, labels)
            assert loss.dtype == torch.float32
            assert distance(loss, wanted) < 1e-5
            (grad,) = torch.autograd.grad(loss.sum(), logits)
            (true,) = torch.autograd.grad(wanted.sum(), exact, retain_graph=True)
            assert distance(grad, true) < (1e-6 if dtype == torch.float32 else 5e-3)
            assert not grad[2].any()


def test_cross_entropy_in_place_with_known_sums_and_z_loss():
    (logits,) = tensors(0, (4, 9), dtype=torch.float32)
    labels = torch.tensor([1, 2, 3, -100], device="cuda")
    memory = (logits * 1).detach().requires_grad_()
    plain = CrossEntropyLoss(lse_square_scale=0.1, return_z_loss=True)
    in_place = CrossEntropyLoss(lse_square_scale=0.1, return_z_loss=True, inplace_backward=True)
    sums = logits.detach().logsumexp(-1)
    (loss, z), (own, own_z) = plain(logits, labels), in_place(memory, labels, precomputed_lse=sums)
    assert distance(loss, own) < 1e-6
    assert distance(z, own_z) < 1e-6
    assert distance(z, 0.1 * sums[:3].square().sum() / 3) < 1e-5
    (expected,) = torch.autograd.grad(loss, logits)
    (grad,) = torch.autograd.grad(own, memory)
    assert grad.data_ptr() == memory.data_ptr()
    assert distance(grad, expected) < 1e-6
    with pytest.raises(NotImplementedError, match="Only support reduction"):
        CrossEntropyLoss(reduction="max")
    with pytest.raises(NotImplementedError, match=r"process_group.*use torch\.distributed\.tensor"):
        CrossEntropyLoss(process_group=object())(logits, labels)


def test_activations():
    inputs = tensors(0, (6, 16), (6, 16), dtype=torch.float32)
    check(swiglu, lambda x, y, dtype: functional.silu(x) * y, inputs)


@pytest.mark.parametrize("checkpoint_lvl", [0, 1, 2])
def test_dense_layers(checkpoint_lvl):
    torch.manual_seed(0)
    (x,) = tensors(0, (3, 4, 16), dtype=torch.float32)
    for activation in ("gelu_approx", "relu", "sqrelu"):
        mlp = dense.FusedMLP(16, 24, 8, activation=activation, checkpoint_lvl=checkpoint_lvl, device="cuda")
        act = {"relu": functional.relu, "sqrelu": lambda y: functional.relu(y) ** 2}.get(
            activation, lambda y: functional.gelu(y, approximate="tanh")
        )
        plain = nn.Sequential(mlp.fc1, Apply(act), mlp.fc2)
        parameters = x, *mlp.parameters()
        results = [torch.autograd.grad(layer(x).square().sum(), parameters) for layer in (mlp, plain)]
        assert all(distance(*pair) < 1e-4 for pair in zip(*results, strict=True))
    out, residual = dense.FusedDense(16, 8, return_residual=True, device="cuda")(x)
    assert out.shape == (3, 4, 8)
    assert residual is x
    with pytest.raises(NotImplementedError, match=r"process_group.*use torch\.distributed\.tensor"):
        dense.fused_dense_func(x, x[0], process_group=object())


class Apply(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)

"""Uses of norms, losses and weight gradients."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.testing import assert_close

from tests.apex.uses import use, values


def same_gradients(ours: Callable[..., Tensor], theirs: Callable[..., Tensor], *inputs: Tensor) -> None:
    """Checks outputs and gradients against a function of torch."""
    results = []
    for function in (ours, theirs):
        leaves = [each.detach().clone().requires_grad_() for each in inputs]
        output = function(*leaves)
        output.square().sum().backward()
        results.append([output, *(leaf.grad for leaf in leaves)])
    for mine, expected in zip(*results, strict=True):
        assert_close(mine, expected, rtol=1e-4, atol=1e-5)


@use(
    "apex.contrib.layer_norm.layer_norm.FastLayerNormFN",
    "apex.contrib.layer_norm.layer_norm.FastLayerNormFN.apply",
    "apex.contrib.layer_norm.layer_norm.FastLayerNormFN.forward",
    "apex.normalization.fused_layer_norm.FusedLayerNormAffineFunction",
    "apex.normalization.fused_layer_norm.FusedLayerNormAffineFunction.apply",
    "apex.normalization.fused_layer_norm.FusedLayerNormAffineFunction.forward",
)
def layer_norms_as_megatron_does() -> None:
    from apex.contrib.layer_norm.layer_norm import FastLayerNormFN
    from apex.normalization.fused_layer_norm import FusedLayerNormAffineFunction

    inputs = values(0, 5, 2, 24), values(1, 24), values(2, 24)
    for function, shape in ((FastLayerNormFN, ()), (FusedLayerNormAffineFunction, ((24,),))):
        assert "memory_efficient" in inspect.getfullargspec(function.forward).args
        for options in ((1e-5,), (1e-5, True)):
            same_gradients(
                lambda *given: function.apply(*given, *shape, *options),  # noqa: B023
                lambda *given: F.layer_norm(given[0], (24,), *given[1:]),
                *inputs,
            )


@use(
    "apex.normalization.fused_layer_norm.fused_layer_norm_affine",
    "apex.normalization.fused_layer_norm.fused_rms_norm",
    "apex.normalization.fused_layer_norm.fused_rms_norm_affine",
)
def norms_as_timm_does() -> None:
    from apex.normalization.fused_layer_norm import (
        fused_layer_norm_affine,
        fused_rms_norm,
        fused_rms_norm_affine,
    )

    input, weight, bias = values(0, 5, 2, 24), values(1, 24), values(2, 24)
    same_gradients(
        lambda *given: fused_layer_norm_affine(*given, [24], 1e-5),
        lambda *given: F.layer_norm(given[0], (24,), *given[1:]),
        *(input, weight, bias),
    )
    same_gradients(
        lambda *given: fused_rms_norm_affine(*given, [24], 1e-5),
        lambda *given: F.rms_norm(given[0], (24,), given[1], 1e-5),
        *(input, weight),
    )
    same_gradients(
        lambda given: fused_rms_norm(given, [24], 1e-5),
        lambda given: F.rms_norm(given, (24,), eps=1e-5),
        input,
    )


@use("apex.normalization.FusedLayerNorm")
def layer_norm_as_fairseq_does() -> None:
    from apex.normalization import FusedLayerNorm as ApexLayerNorm

    class FusedLayerNorm(ApexLayerNorm):
        def forward(self, x: Tensor) -> Tensor:
            with torch.cuda.device(x.device):
                return super().forward(x)

    same_gradients(FusedLayerNorm(24).cuda(), lambda x: F.layer_norm(x, (24,)), values(0, 5, 2, 24))


@use(
    "apex.contrib.xentropy",
    "apex.contrib.xentropy.SoftmaxCrossEntropyLoss.apply",
    "xentropy_cuda",
    "xentropy_cuda.forward",
)
def cross_entropy_as_fairseq_does() -> None:
    import xentropy_cuda
    from apex.contrib import xentropy

    logits, target = values(0, 6, 9), torch.tensor([3, 1, 8, 0, 1, 2], device="cuda")
    same_gradients(
        lambda given: xentropy.SoftmaxCrossEntropyLoss.apply(given, target, 0.0, 1, False),
        lambda given: F.cross_entropy(given, target, ignore_index=1, reduction="none"),
        logits,
    )
    losses, _ = xentropy_cuda.forward(logits, target, 0.0, False)
    assert_close(losses, F.cross_entropy(logits, target, reduction="none"))


@use(
    "fused_weight_gradient_mlp_cuda",
    "fused_weight_gradient_mlp_cuda.wgrad_gemm_accum_fp16",
    "fused_weight_gradient_mlp_cuda.wgrad_gemm_accum_fp32",
)
def gradients_of_weights_as_megatron_does() -> None:
    import fused_weight_gradient_mlp_cuda as extension

    for dtype, add in (
        (torch.float32, extension.wgrad_gemm_accum_fp32),
        (torch.float16, extension.wgrad_gemm_accum_fp16),
    ):
        total_input, grad_output = values(0, 10, 6).to(dtype), values(1, 10, 4).to(dtype)
        main_grad = torch.ones(4, 6, dtype=dtype, device="cuda")
        add(total_input, grad_output, main_grad)
        expected = 1 + grad_output.cpu().double().T @ total_input.cpu().double()
        assert_close(main_grad.cpu().double(), expected, rtol=1e-2, atol=1e-2)


@use("apex.contrib.group_norm.GroupNorm")
def group_norm_as_physicsnemo_does() -> None:
    from apex.contrib.group_norm import GroupNorm

    layer = GroupNorm(num_groups=4, num_channels=8, eps=1e-5, affine=True, act="silu").cuda()
    same_gradients(layer, lambda x: F.silu(F.group_norm(x, 4)), values(0, 2, 8, 3, 3))


@use("apex.contrib.layer_norm.FastLayerNorm", "apex.normalization.MixedFusedRMSNorm")
def norms_as_nemo_does() -> None:
    from apex.contrib.layer_norm import FastLayerNorm
    from apex.normalization import MixedFusedRMSNorm

    same_gradients(FastLayerNorm(24).cuda(), lambda x: F.layer_norm(x, (24,)), values(0, 5, 24))
    same_gradients(MixedFusedRMSNorm(24).cuda(), lambda x: F.rms_norm(x, (24,), eps=1e-5), values(0, 5, 24))


@use(
    "fused_layer_norm_cuda.forward",
    "fused_layer_norm_cuda.forward_affine",
    "fused_layer_norm_cuda.rms_forward_affine",
)
def kernels_of_norms_as_copies_of_apex_do() -> None:
    import importlib

    kernels = importlib.import_module("fused_layer_norm_cuda")
    input, weight, bias = values(0, 5, 24), values(1, 24), values(2, 24)
    assert_close(kernels.forward(input, (24,), 1e-5)[0], F.layer_norm(input, (24,)))
    output, mean, invvar = kernels.forward_affine(input, (24,), weight, bias, 1e-5)
    assert_close(output, F.layer_norm(input, (24,), weight, bias))
    assert mean.shape == invvar.shape == (5,)
    output, _ = kernels.rms_forward_affine(input, (24,), weight, 1e-5)
    assert_close(output, F.rms_norm(input, (24,), weight, 1e-5))


@use(
    "apex.transformer.functional.fused_apply_rotary_pos_emb",
    "apex.transformer.functional.fused_apply_rotary_pos_emb_cached",
    "apex.transformer.functional.fused_apply_rotary_pos_emb_thd",
    "fused_rotary_positional_embedding",
)
def rotary_embeddings_as_megatron_does() -> None:
    import fused_rotary_positional_embedding  # noqa: F401
    from apex.transformer.functional import (
        fused_apply_rotary_pos_emb,
        fused_apply_rotary_pos_emb_cached,
        fused_apply_rotary_pos_emb_thd,
    )

    t, angles = values(0, 5, 1, 2, 8), values(1, 5, 1, 1, 8)
    begins = torch.tensor([0, 5], dtype=torch.int32, device="cuda")
    turned = fused_apply_rotary_pos_emb(t, angles, transpose_output_memory=True)
    assert_close(turned, fused_apply_rotary_pos_emb_cached(t, angles.cos(), angles.sin()))
    assert_close(turned[:, 0], fused_apply_rotary_pos_emb_thd(t[:, 0], begins, angles))


@use(
    "apex.transformer.AttnMaskType",
    "apex.transformer.functional.FusedScaleMaskSoftmax",
    "apex.transformer.functional.fused_softmax.generic_scaled_masked_softmax",
)
def softmax_as_megatron_does() -> None:
    from apex.transformer import AttnMaskType
    from apex.transformer.functional import FusedScaleMaskSoftmax
    from apex.transformer.functional.fused_softmax import generic_scaled_masked_softmax

    scores, mask = values(0, 1, 4, 32, 32).half(), values(1, 1, 1, 32, 32) > 0
    expected = scores.float().masked_fill(mask, -10000.0).softmax(-1).half()
    assert_close(generic_scaled_masked_softmax(scores, mask, 1.0), expected, rtol=1e-2, atol=1e-3)
    kind = AttnMaskType.padding
    softmax = FusedScaleMaskSoftmax(True, False, kind, True, lambda x, m: x.masked_fill(m, -1e4), True, None)
    assert_close(softmax(scores, mask), expected, rtol=1e-2, atol=1e-3)

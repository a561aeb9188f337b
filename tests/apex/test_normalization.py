"""Forward and backward passes of the normalisation layers against float64."""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close

from tests.apex.precision import DTYPES, check, values
from tests.later import Later

normalization = Later("apex.normalization")
norms = Later("apex.normalization.fused_layer_norm")
extension = Later("fused_layer_norm_cuda")
FastLayerNorm = Later("apex.contrib.layer_norm", "FastLayerNorm")
FastLayerNormFN = Later("apex.contrib.layer_norm.layer_norm", "FastLayerNormFN")


EPS = 1e-5
SIZES = [((3, 2), (16,)), ((5,), (4, 6)), ((), (8,)), ((1, 4, 1), (5,)), ((2,), (3, 7))]


def layer_norm(shape: Sequence[int], input: Tensor, *parameters: Tensor) -> Tensor:
    return F.layer_norm(input, shape, *parameters, eps=EPS)


def rms_norm(shape: Sequence[int], input: Tensor, *parameters: Tensor) -> Tensor:
    return F.rms_norm(input, shape, *parameters, eps=EPS)


def inputs_for(
    outer: Sequence[int], shape: Sequence[int], dtype: torch.dtype, of_parameters: torch.dtype, count: int
) -> list[Tensor]:
    parameters = [values(index + 1, *shape, dtype=of_parameters).abs() + 0.5 for index in range(count)]
    return [values(0, *outer, *shape, dtype=dtype, mean=0.5), *parameters]


@pytest.mark.parametrize("memory_efficient", [False, True])
def test_functions(memory_efficient: bool) -> None:
    cases: list[tuple[Any, Any, int]] = [
        (norms.FusedLayerNormAffineFunction.apply, layer_norm, 2),
        (norms.fused_layer_norm, layer_norm, 0),
        (norms.fused_layer_norm_affine, layer_norm, 2),
        (norms.mixed_dtype_fused_layer_norm_affine, layer_norm, 2),
        (norms.fused_rms_norm, rms_norm, 0),
        (norms.fused_rms_norm_affine, rms_norm, 1),
        (norms.mixed_dtype_fused_rms_norm_affine, rms_norm, 1),
    ]
    for (function, reference, count), (outer, shape), dtype in itertools.product(cases, SIZES, DTYPES):
        check(
            lambda *given: function(*given, shape, EPS, memory_efficient),  # noqa: B023
            lambda *given: reference(shape, *given),  # noqa: B023
            inputs_for(outer, shape, dtype, dtype, count),
        )
    for dtype in DTYPES:
        inputs = inputs_for((3, 5), (24,), dtype, dtype, 2)
        check(
            lambda *given: FastLayerNormFN.apply(*given, EPS, memory_efficient),
            lambda *given: layer_norm((24,), *given),
            inputs,
        )
    module = FastLayerNorm(24, memory_efficient=memory_efficient).cuda()
    assert_close(module(inputs[0].float()), F.layer_norm(inputs[0].float(), (24,)))
    assert module(inputs[0].half()).dtype == torch.float32


@pytest.mark.parametrize("memory_efficient", [False, True])
def test_outputs_of_mixed_functions_have_the_parameters_dtype(memory_efficient: bool) -> None:
    for dtype, of_parameters in ((torch.float16, torch.float32), (torch.bfloat16, torch.float32)):
        inputs = inputs_for((6,), (12,), dtype, of_parameters, 2)
        output = norms.mixed_dtype_fused_layer_norm_affine(*inputs, (12,), EPS, memory_efficient)
        assert output.dtype == of_parameters
        wide = [value.float() for value in inputs]
        expected = norms.mixed_dtype_fused_layer_norm_affine(*wide, (12,), EPS, memory_efficient)
        assert_close(output, expected, rtol=1e-5, atol=1e-5)
        leaf = inputs[0].requires_grad_()
        norms.mixed_dtype_fused_rms_norm_affine(
            leaf, inputs[1], (12,), EPS, memory_efficient
        ).sum().backward()
        assert leaf.grad.dtype == dtype


def test_modules() -> None:
    input = values(0, 4, 6)
    for ours, theirs in (
        (normalization.FusedLayerNorm, nn.LayerNorm),
        (normalization.FusedRMSNorm, nn.RMSNorm),
    ):
        for affine in (True, False):
            module = ours(6, eps=1e-4, elementwise_affine=affine).cuda()
            model = theirs(6, eps=1e-4, elementwise_affine=affine).cuda()
            assert_close(module(input), model(input))
            assert module.state_dict().keys() == model.state_dict().keys()
            module.load_state_dict(model.state_dict())
    for mixed in (normalization.MixedFusedLayerNorm, normalization.MixedFusedRMSNorm):
        assert mixed(6).cuda()(input.half()).dtype == torch.float32
        with pytest.warns(UserWarning, match="does not support `elementwise_affine` argument"):
            mixed(6, elementwise_affine=True)
        with (
            pytest.warns(UserWarning, match="elementwise_affine"),
            pytest.raises(RuntimeError, match="elementwise_affine = False"),
        ):
            mixed(6, elementwise_affine=False)


def test_scripts_and_the_host() -> None:
    """When scripted and on the CPU, apex's modules call torch's functions."""
    input = torch.randn(4, 6)
    for module in (normalization.FusedLayerNorm(6), normalization.MixedFusedLayerNorm(6)):
        with pytest.warns(DeprecationWarning, match=r"torch\.jit\.script"):
            scripted = torch.jit.script(module)
        assert_close(scripted(input), F.layer_norm(input, (6,)))
    for affine, memory_efficient in itertools.product((True, False), repeat=2):
        options = {"elementwise_affine": affine, "memory_efficient": memory_efficient}
        assert_close(normalization.FusedLayerNorm(6, **options)(input), F.layer_norm(input, (6,)))
        expected = F.rms_norm(input, (6,), eps=EPS)
        assert_close(normalization.FusedRMSNorm(6, **options)(input), expected)
    assert_close(normalization.MixedFusedRMSNorm(6, memory_efficient=True)(input), expected)


@pytest.mark.platforms("npu")
def test_the_compiler_sees_through() -> None:
    from apex import normalization

    input = values(0, 4, 6)
    for kind in (normalization.FusedLayerNorm, normalization.FusedRMSNorm):
        module = kind(6).cuda()
        assert_close(torch.compile(module, backend="eager", fullgraph=True)(input), module(input))


def test_autocast_chooses_the_dtype() -> None:
    for module in (normalization.FusedLayerNorm(6).cuda(), normalization.FusedRMSNorm(6).cuda()):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            assert module(values(0, 4, 6)).dtype == torch.bfloat16
        assert module(values(0, 4, 6)).dtype == torch.float32
        with pytest.raises(RuntimeError, match="expected scalar type Half but found Float"):
            module(values(0, 4, 6, dtype=torch.float16))


def test_the_extension() -> None:
    input, weight, bias = inputs_for((3, 5), (8,), torch.float16, torch.float16, 2)
    output, mean, inverse = extension.forward_affine(input, (8,), weight, bias, EPS)
    assert (output.dtype, mean.dtype, inverse.dtype) == (torch.float16, torch.float32, torch.float32)
    assert mean.shape == inverse.shape == (15,)
    rows = input.cpu().double().reshape(15, 8)
    assert_close(mean.cpu().double(), rows.mean(1), rtol=1e-3, atol=1e-3)
    deviation = (rows.var(1, unbiased=False) + EPS).rsqrt()
    assert_close(inverse.cpu().double(), deviation, rtol=2e-3, atol=1e-3)
    _, inverse = extension.rms_forward_affine(input, (8,), weight, EPS)
    assert_close(inverse.cpu().double(), (rows.square().mean(1) + EPS).rsqrt(), rtol=1e-5, atol=1e-5)
    assert_close(extension.forward(input, (8,), EPS)[0], F.layer_norm(input, (8,)), rtol=1e-2, atol=1e-2)
    with pytest.raises(RuntimeError, match="input must be contiguous"):
        extension.forward(input.transpose(0, 1), (8,), EPS)
    with pytest.raises(RuntimeError):
        extension.forward(input, (7,), EPS)


def test_the_gradients_of_the_extension() -> None:
    input, weight, bias = inputs_for((3, 5), (8,), torch.float32, torch.float32, 2)
    grad = values(9, 3, 5, 8)
    _, *statistics = extension.forward_affine(input, (8,), weight, bias, EPS)
    _, inverse = extension.rms_forward_affine(input, (8,), weight, EPS)
    for norm, count, ours in (
        (layer_norm, 3, extension.backward_affine(grad, *statistics, input, (8,), weight, bias, EPS)),
        (rms_norm, 2, extension.rms_backward_affine(grad, inverse, input, (8,), weight, EPS)),
        (layer_norm, 1, [extension.backward(grad, *statistics, input, (8,), EPS)]),
        (rms_norm, 1, [extension.rms_backward(grad, inverse, input, (8,), EPS)]),
    ):
        leaves = [each.cpu().double().requires_grad_() for each in (input, weight, bias)[:count]]
        expected = torch.autograd.grad(norm((8,), *leaves), leaves, grad.cpu().double())
        for mine, true in zip(ours, expected, strict=True):
            assert_close(mine.cpu().double(), true, rtol=1e-4, atol=1e-4)
    with pytest.raises(TypeError):
        extension.backward(grad, *statistics, input, (8,), EPS, True)

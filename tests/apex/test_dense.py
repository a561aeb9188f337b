"""Forward and backward passes of apex.mlp, apex.fused_dense and weight gradients against float64."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close

from tests.apex.precision import check

DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def values(seed: int, *shape: int, dtype: torch.dtype = torch.float32, scale: float = 1.0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (scale * torch.randn(shape, generator=generator)).to("cuda", dtype)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("activation", ["none", "relu", "sigmoid"])
def test_perceptrons(activation: str, bias: bool) -> None:
    from apex.mlp import MLP, MlpFunction

    act = {"none": nn.Identity, "relu": nn.ReLU, "sigmoid": nn.Sigmoid}[activation]()
    ours = MLP([6, 9, 5, 3], bias=bias, activation=activation).cuda()
    assert len(list(ours.parameters())) == (6 if bias else 3)
    parameters = [*ours.weights, *ours.biases]

    def reference(input: Tensor, *given: Tensor) -> Tensor:
        for number in range(3):
            input = act(F.linear(input, given[number], given[3 + number] if bias else None))
        return input

    inputs = [values(0, 7, 6), *(each.detach() for each in parameters)]
    check(lambda *given: MlpFunction.apply(int(bias), ours.activation, *given), reference, inputs)
    assert_close(ours(inputs[0]), reference(inputs[0], *parameters))
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert ours(inputs[0]).dtype == torch.bfloat16
    with pytest.raises(TypeError, match="activation must be relu or none"):
        MLP([2, 2], activation="tanh")


def test_linear_layers() -> None:
    from apex import fused_dense

    input, first, second = values(0, 4, 5, 6), values(1, 9, 6), values(2, 9)
    for dtype in DTYPES:
        given = [each.to(dtype) for each in (input, first, second)]
        check(fused_dense.fused_dense_function, F.linear, given)
        check(fused_dense.dense_no_bias_function, F.linear, given[:2])
        deep = [*given, values(3, 3, 9, dtype=dtype), values(4, 3, dtype=dtype)]

        def reference(input: Tensor, *rest: Tensor) -> Tensor:
            hidden = F.gelu(F.linear(input, rest[0], rest[1]), approximate="tanh")
            return F.linear(hidden, rest[2], rest[3])

        check(fused_dense.fused_dense_gelu_dense_function, reference, deep)
    module = fused_dense.FusedDense(6, 9).cuda()
    assert_close(module(input), F.linear(input, module.weight, module.bias))
    assert fused_dense.FusedDense(6, 9, bias=False).cuda()(input).shape == (4, 5, 9)
    both = fused_dense.FusedDenseGeluDense(6, 9, 3).cuda()
    assert_close(both(input), reference(input, both.weight1, both.bias1, both.weight2, both.bias2))
    with pytest.raises(AssertionError, match="without bias"):
        fused_dense.FusedDenseGeluDense(6, 9, 3, bias=False)


def test_gradients_of_weights_are_added() -> None:
    import fused_weight_gradient_mlp_cuda as extension

    for dtype, of_grad, function in (
        (torch.float32, torch.float32, extension.wgrad_gemm_accum_fp32),
        (torch.bfloat16, torch.float32, extension.wgrad_gemm_accum_fp32),
        (torch.float16, torch.float16, extension.wgrad_gemm_accum_fp16),
    ):
        input, grad = values(0, 4, 5, 6, dtype=dtype), values(1, 4, 5, 3, dtype=dtype)
        total = values(2, 3, 6, dtype=of_grad)
        expected = total.cpu().double() + torch.einsum(
            "abo,abi->oi", grad.cpu().double(), input.cpu().double()
        )
        assert function(input, grad, total) is None
        tolerance = 1e-5 if of_grad == torch.float32 else 1e-2
        assert_close(total.cpu().double(), expected, rtol=tolerance, atol=tolerance)

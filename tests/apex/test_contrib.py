"""Forward and backward passes of apex.contrib, and gradients of weights, against float64."""

import hypothesis
import hypothesis.strategies as st
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from tests.apex.precision import DTYPES, check, values
from tests.later import Later

nccl_allocator = Later("apex.contrib.nccl_allocator")
extension = Later("fused_weight_gradient_mlp_cuda")
clip_grad_norm_ = Later("apex.contrib.clip_grad", "clip_grad_norm_")
GroupNorm = Later("apex.contrib.group_norm", "GroupNorm")
xentropy_cuda = Later("xentropy_cuda")
SoftmaxCrossEntropyLoss = Later("apex.contrib.xentropy", "SoftmaxCrossEntropyLoss")


def test_cross_entropy() -> None:
    @hypothesis.settings(max_examples=15, derandomize=True, deadline=None, database=None)
    @hypothesis.given(
        st.integers(1, 6),
        st.integers(2, 30),
        st.sampled_from(DTYPES),
        st.sampled_from([0.0, 0.1, 0.5]),
        st.booleans(),
    )
    def agrees(count: int, classes: int, dtype: torch.dtype, smoothing: float, to_float: bool) -> None:
        labels = values(1, count).argsort().remainder(classes)
        half_to_float = to_float and dtype == torch.float16
        check(
            lambda logits, labels: SoftmaxCrossEntropyLoss.apply(logits, labels, smoothing, 1, half_to_float),
            lambda logits, labels: F.cross_entropy(
                logits if logits.dtype == torch.float64 else logits.float(),
                labels,
                ignore_index=1,
                reduction="none",
                label_smoothing=smoothing,
            ),
            [values(0, count, classes, dtype=dtype, scale=3), labels],
        )

    agrees()
    losses = SoftmaxCrossEntropyLoss.apply(values(0, 3, 4).half(), torch.zeros(3, device="cuda").long())
    assert losses.tolist() == [0, 0, 0]  # label 0 is padding by default
    assert losses.dtype == torch.float32
    logits, labels = values(0, 6, 9), torch.tensor([3, 1, 8, 0, 1, 2], device="cuda")
    losses = xentropy_cuda.forward(logits, labels, 0.0, False)[0]
    assert_close(losses, F.cross_entropy(logits, labels, reduction="none"))
    for logits, labels, message in (
        (values(0, 2, 3), torch.zeros(2, device="cuda"), "Label type should be CUDA Long"),
        (values(0, 2, 3, 1), torch.zeros(2, device="cuda").long(), "only 2 dim input"),
        (values(0, 2, 3), torch.zeros(3, device="cuda").long(), "same number of examples"),
    ):
        with pytest.raises(RuntimeError, match=message):
            SoftmaxCrossEntropyLoss.apply(logits, labels)


def test_clipping() -> None:
    for norm_type in (2.0, 1.0, float("inf")):
        params = [nn.Parameter(values(seed, 3, 4)) for seed in range(3)]
        for param in params:
            param.grad = param.detach().clone()
        params[0].grad = params[0].grad.half().float()
        whole = torch.cat([param.grad.flatten() for param in params])
        norm = clip_grad_norm_(params, 0.5, norm_type)
        assert_close(norm, torch.linalg.vector_norm(whole, norm_type))
        clipped = torch.cat([param.grad.flatten() for param in params])
        assert_close(clipped, whole * (0.5 / (norm + 1e-6)))
        clip_grad_norm_(params, 100.0, norm_type)
        assert_close(torch.cat([param.grad.flatten() for param in params]), clipped)
    assert clip_grad_norm_([nn.Parameter(values(0, 2))], 1.0).item() == 0
    params[0].grad[0] = float("nan")
    with pytest.raises(RuntimeError, match="non-finite"):
        clip_grad_norm_(params, 1.0, error_if_nonfinite=True)


@pytest.mark.parametrize("act", [None, "silu", "Swish"])
def test_group_norm(act: str | None) -> None:
    module = GroupNorm(4, 16, eps=1e-4, act=act).cuda()
    nn.init.normal_(module.weight)
    nn.init.normal_(module.bias)
    model = nn.GroupNorm(4, 16, eps=1e-4).cuda()
    model.load_state_dict(module.state_dict())
    input = values(0, 2, 16, 5, 3).requires_grad_()
    expected = F.silu(model(input)) if act else model(input)
    assert_close(module(input), expected)
    assert_close(*(torch.autograd.grad(each.square().sum(), input) for each in (module(input), expected)))
    assert_close(module(input.half()), expected.half(), rtol=1e-2, atol=1e-2)
    assert (", act=silu" in repr(module) or ", act=swish" in repr(module)) == bool(act)
    with pytest.raises(ValueError, match="num_channels .*must be divisible by num_groups"):
        GroupNorm(3, 16)


@pytest.mark.platforms("cpu", "npu")
def test_pools_of_memory_for_collectives() -> None:
    nccl_allocator.init()
    pool = nccl_allocator.create_nccl_mem_pool()
    with nccl_allocator.nccl_mem(pool):
        kept = torch.ones(1024, device="cuda")
    with nccl_allocator.nccl_mem(pool, enabled=False):
        other = torch.ones(1024, device="cuda")
    assert (kept + other).sum().item() == 2048
    assert isinstance(pool, torch.cuda.MemPool)


def test_gradients_of_weights_are_added() -> None:
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

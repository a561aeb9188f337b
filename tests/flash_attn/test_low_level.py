"""The operators and the extension module that other libraries use."""

import inspect

import pytest
import torch

from tests.flash_attn.reference import attention, detached, distance, tensors
from tests.later import Later, later

flash_attn_func, flash_attn_varlen_func = later("flash_attn", "flash_attn_func", "flash_attn_varlen_func")
_flash_attn_backward = Later("flash_attn.flash_attn_interface", "_flash_attn_backward")
_flash_attn_forward = Later("flash_attn.flash_attn_interface", "_flash_attn_forward")


def test_attention_over_parts_of_the_keys():
    """As in ring attention, parts merge by their log-sum-exp, and each gets the gradients of the whole."""
    q, k, v = detached(0, (2, 8, 4, 32), (2, 12, 2, 32), (2, 12, 2, 32), dtype=torch.bfloat16)
    (grad,) = tensors(1, (2, 8, 4, 32), dtype=torch.bfloat16)
    options = 0.0, 32**-0.5, False, -1, -1, 0.0, None
    parts = [
        _flash_attn_forward(q, k[:, own], v[:, own], *options, False) for own in (slice(5), slice(5, 12))
    ]
    assert parts[0][2].shape == (0,)
    assert parts[0][3].dtype == torch.int64
    sums = torch.stack([lse for _, lse, _, _ in parts])
    total = sums.logsumexp(0)
    weights = (sums - total).exp().transpose(2, 3)[..., None]
    out = sum(w * part[0].float() for w, part in zip(weights, parts, strict=True)).to(q.dtype)
    exact = [each.cpu().double().requires_grad_() for each in (q, k, v)]
    expected, lse = attention(*exact)
    assert distance(out, expected) < 0.02
    assert distance(total, lse) < 5e-4
    wanted = torch.autograd.grad(expected, exact, grad.detach().cpu().double())
    dq = torch.zeros_like(q, dtype=torch.float32)
    for own in (slice(5), slice(5, 12)):
        grads = [torch.full_like(each, torch.nan) for each in (q, k[:, own], v[:, own])]
        sums_of_rows = _flash_attn_backward(
            grad.detach(), q, k[:, own], v[:, own], out, total, *grads, *options, False, None
        )
        dq += grads[0]
        assert distance(grads[1], wanted[1][:, own]) < 0.03
        assert distance(grads[2], wanted[2][:, own]) < 0.03
    assert distance(dq, wanted[0]) < 0.03
    assert sums_of_rows.shape == (2, 4, 128)
    rows = (grad.detach().cpu().double() * expected).sum(-1).transpose(1, 2)
    assert distance(sums_of_rows[:, :, :8], rows) < 0.05


def test_operators_are_registered():
    from flash_attn import flash_attn_interface as interface

    for name in ("forward", "backward", "varlen_forward", "varlen_backward"):
        operator = getattr(torch.ops.flash_attn, f"_flash_attn_{name}")
        assert getattr(interface, f"_wrapped_flash_attn_{name}") is operator
    own = list(inspect.signature(interface._flash_attn_varlen_forward._init_fn).parameters)
    assert own[-6:] == [
        "return_softmax",
        "block_table",
        "leftpad_k",
        "seqused_k",
        "zero_tensors",
        "num_splits",
    ]


def test_operators_keep_their_contract():
    """The operators pass torch's own checks of schema and fake implementation."""
    import flash_attn.flash_attn_interface  # noqa: F401 (registers the operators)

    q, k, v = detached(0, (2, 5, 2, 16), (2, 6, 2, 16), (2, 6, 2, 16), dtype=torch.float16)
    options = 0.0, 0.25, True, -1, -1, 0.0, None
    checks = ("test_schema", "test_faketensor")
    forward = torch.ops.flash_attn._flash_attn_forward.default
    torch.library.opcheck(forward, (q, k, v, *options, False), test_utils=checks)
    out, lse, _, _ = forward(q, k, v, *options, False)
    grads = [torch.empty_like(each) for each in (q, k, v)]
    backward = torch.ops.flash_attn._flash_attn_backward.default
    torch.library.opcheck(backward, (out, q, k, v, out, lse, *grads, *options, False), test_utils=checks)
    bounds = torch.tensor([0, 2, 5], dtype=torch.int32, device="cuda")
    packed = q[0], k[0, :5], v[0, :5], bounds, bounds.clone(), 3, 3
    varlen = torch.ops.flash_attn._flash_attn_varlen_forward.default
    torch.library.opcheck(varlen, (*packed, 0.0, 0.25, True), test_utils=checks)


def test_extension_module():
    import flash_attn_2_cuda
    from flash_attn import flash_attn_interface

    assert flash_attn_interface.flash_attn_gpu is flash_attn_2_cuda
    q, k, v = detached(0, (2, 5, 4, 32), (2, 6, 2, 32), (2, 6, 2, 32), dtype=torch.float16)
    target = torch.empty_like(q)
    out, lse, weights, state = flash_attn_2_cuda.fwd(
        q, k, v, target, None, 0.0, 0.2, False, -1, -1, 0.0, False, None
    )
    assert out is target
    assert distance(out, attention(q, k, v, softmax_scale=0.2)[0]) < 2e-3
    grads = flash_attn_2_cuda.bwd(
        out, q, k, v, out, lse, None, None, None, None, 0.0, 0.2, False, -1, -1, 0.0, False, None, state
    )
    assert [each.shape for each in grads[:3]] == [q.shape, k.shape, v.shape]


@pytest.mark.platforms("cpu", "npu")
def test_fused_kernels_are_used(platform_name):
    """The device's own kernels are used for what they compute exactly."""
    q, k, v = tensors(0, (2, 16, 4, 32), (2, 24, 2, 32), (2, 24, 2, 32), dtype=torch.bfloat16)
    cu = torch.tensor([0, 4, 16], dtype=torch.int32, device="cuda")
    with torch.profiler.profile() as profile:
        for options in ({}, {"causal": True}, {"window_size": (4, 0)}):
            flash_attn_func(q, k, v, **options).sum().backward()
        flash_attn_varlen_func(q[0], k[0, :16], v[0, :16], cu, cu, 12, 12, causal=True).sum().backward()
    counts = {each.key: each.count for each in profile.key_averages()}
    if platform_name == "npu":
        assert counts["npu::npu_fusion_attention"] == 4
        assert counts["npu::npu_fusion_attention_grad"] == 4
    else:
        assert counts["aten::_scaled_dot_product_flash_attention_for_cpu"] == 5
        assert counts["aten::_scaled_dot_product_flash_attention_for_cpu_backward"] == 5

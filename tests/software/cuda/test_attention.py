"""CUDA's kernels of attention: their numbers, their dropout, their limits."""

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

CUDA = torch.device("cuda:0")


FUSED = {
    "flash": lambda q, k, v, p, causal: torch.ops.aten._scaled_dot_product_flash_attention(
        q, k, v, p, causal
    ),
    "efficient": lambda q, k, v, p, causal: torch.ops.aten._scaled_dot_product_efficient_attention(
        q, k, v, None, True, p, causal
    ),
    "cudnn": lambda q, k, v, p, causal: torch.ops.aten._scaled_dot_product_cudnn_attention(
        q, k, v, None, True, p, causal
    ),
}


@pytest.mark.parametrize("shape", [(4, 4), (1, 4, 4), (2, 1, 4, 4)])
@pytest.mark.parametrize("kernel", ["CUDNN_ATTENTION", "EFFICIENT_ATTENTION"])
def test_a_mask_may_have_fewer_dimensions(kernel, shape):
    host = [torch.randn(2, 3, 4, 8).requires_grad_() for _ in range(3)]
    there = [x.detach().cuda().half().requires_grad_() for x in host]
    mask = torch.randn(shape)
    expected = F.scaled_dot_product_attention(*host, attn_mask=mask)
    with sdpa_kernel(getattr(SDPBackend, kernel)):
        actual = F.scaled_dot_product_attention(*there, attn_mask=mask.cuda().half())
    expected.sum().backward()
    actual.sum().backward()
    assert_close(actual.float().cpu(), expected, atol=1e-2, rtol=1e-2)
    assert_close(there[0].grad.float().cpu(), host[0].grad, atol=1e-2, rtol=1e-2)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", FUSED)
def test_fused_attention_is_attention(name, causal):
    torch.manual_seed(0)
    host = [torch.randn(2, 3, 5, 8).half().float().requires_grad_() for _ in range(3)]
    there = [x.detach().cuda().half().requires_grad_() for x in host]
    expected = F.scaled_dot_product_attention(*host, is_causal=causal)
    actual = FUSED[name](*there, 0.0, causal)[0]
    expected.sin().sum().backward()
    actual.float().sin().sum().backward()
    assert_close(actual.detach().float().cpu(), expected.detach(), atol=2e-3, rtol=2e-3)
    for one, other in zip(there, host, strict=True):
        assert_close(one.grad.float().cpu(), other.grad, atol=1e-2, rtol=1e-2)


@pytest.mark.parametrize("name", FUSED)
def test_fused_attention_draws_dropout_once(name):
    torch.manual_seed(0)
    q, k = torch.randn(2, 3, 5, 8, device=CUDA).half(), torch.randn(2, 3, 5, 8, device=CUDA).half()
    v = torch.eye(5, 8, device=CUDA).half().expand(2, 3, 5, 8).clone().requires_grad_()
    result = FUSED[name](q, k, v, 0.5, False)[0]
    result.sum().backward()
    weights = result.detach()[..., :5]  # because v is the identity
    assert_close(v.grad[..., 0], weights.sum(2), atol=2e-3, rtol=2e-3)
    assert 0.2 < (weights == 0).float().mean().item() < 0.8


BACKENDS = {
    "flash": (SDPBackend.FLASH_ATTENTION, torch.half),
    "efficient": (SDPBackend.EFFICIENT_ATTENTION, torch.float32),
}


@pytest.mark.parametrize("name", BACKENDS)
def test_the_dropout_of_a_backend_can_be_drawn_again(name):
    backend, dtype = BACKENDS[name]
    q, k, v = (torch.randn(2, 3, 5, 8, device=CUDA, dtype=dtype) for _ in range(3))
    torch.manual_seed(42)
    with sdpa_kernel(backend):
        actual = F.scaled_dot_product_attention(q, k, v, dropout_p=0.4)
    numbers = torch.ops.aten._fill_mem_eff_dropout_mask_(torch.empty(2, 3, 5, 5, device=CUDA), 0.4, 42, 0)
    weights = (q.float() @ k.float().mT / 8**0.5).softmax(-1) * (numbers > 0.4) / 0.6
    assert_close(actual.float(), weights @ v.float(), atol=1e-3, rtol=1e-3)


def test_flash_attention_shows_what_it_drops():
    q, k, v = (torch.randn(2, 3, 5, 8, device=CUDA, dtype=torch.half) for _ in range(3))
    operator = torch.ops.aten._scaled_dot_product_flash_attention
    result, *_, shown = operator(q, k, v, 0.4, return_debug_mask=True)
    assert shown.shape == (2, 3, 128, 128)
    weights = shown[..., :5, :5].float().clamp(min=0) / 0.6
    assert_close(result.float(), weights @ v.float(), atol=2e-3, rtol=2e-3)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result, *_, shown = operator(q, k, v, 0.4, return_debug_mask=True)
    for _ in range(2):
        graph.replay()
        weights = shown[..., :5, :5].float().clamp(min=0) / 0.6
        assert_close(result.float(), weights @ v.float(), atol=2e-3, rtol=2e-3)


@pytest.mark.parametrize(
    ("backend", "shapes", "dtype", "reason"),
    [
        ("FLASH_ATTENTION", [(4, 8), (6, 8), (6, 8)], torch.half, "is_causal flag when seqlen_q != seqlen_k"),
        ("FLASH_ATTENTION", [(4, 264)] * 3, torch.half, "less than or equal to 256"),
        ("FLASH_ATTENTION", [(4, 8)] * 3, torch.float, "to all be of dtype: {Half, BFloat16}"),
        ("EFFICIENT_ATTENTION", [(4, 9)] * 3, torch.half, "to be divisible by 8"),
        ("EFFICIENT_ATTENTION", [(4, 6)] * 3, torch.float, "to be divisible by 4"),
        ("CUDNN_ATTENTION", [(4, 8)] * 3, torch.float, "to all be of dtype: {Half, BFloat16}"),
        ("CUDNN_ATTENTION", [(4, 8), (4, 8), (4, 136)], torch.half, "should be no more than 128"),
        ("CUDNN_ATTENTION", [(4, 12)] * 3, torch.half, "should be a multiple of 8"),
        ("CUDNN_ATTENTION", [(4, 8), (1, 8), (1, 8)], torch.half, "key/value sequence length 1"),
    ],
)
def test_a_backend_that_is_asked_for_what_it_lacks(backend, shapes, dtype, reason):
    given = [torch.ones(1, 2, *shape, device=CUDA, dtype=dtype) for shape in shapes]
    with warnings.catch_warnings(record=True) as said, sdpa_kernel(getattr(SDPBackend, backend)):
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError, match="No available kernel"):
            F.scaled_dot_product_attention(*given, is_causal=True)
    assert any(reason in str(each.message) for each in said)


def test_attention_in_double_precision_has_second_derivatives():
    q, k, v = (
        torch.randn(1, 2, 3, 4, device=CUDA, dtype=torch.float64, requires_grad=True) for _ in range(3)
    )
    assert torch.autograd.gradgradcheck(F.scaled_dot_product_attention, (q, k, v))


class Seen(TorchDispatchMode):
    """The names of the operators that are called."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.add(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def inputs(dtype, width=8, key_heads=4):
    torch.manual_seed(0)
    heads = (4, key_heads, key_heads)
    return [torch.randn(2, each, 6, width).to(dtype).cuda().requires_grad_() for each in heads]


MASK = torch.tensor([[True, False, True, True, False, True]] * 5 + [[False] * 6])  # the last row whole


@pytest.mark.parametrize(
    ("wanted", "options", "kernel"),
    [
        ((torch.half,), {"is_causal": True}, "_scaled_dot_product_flash_attention"),
        ((torch.bfloat16, 12), {}, "_scaled_dot_product_flash_attention"),
        ((torch.half, 8, 2), {"enable_gqa": True}, "_scaled_dot_product_flash_attention"),
        ((torch.float,), {"is_causal": True}, "_scaled_dot_product_efficient_attention"),
        ((torch.float,), {"scale": 0.7}, "_scaled_dot_product_efficient_attention"),
        ((torch.half,), {"attn_mask": MASK}, "_scaled_dot_product_efficient_attention"),
        ((torch.float,), {"attn_mask": MASK}, "_scaled_dot_product_efficient_attention"),
        ((torch.float, 7), {}, "_scaled_dot_product_attention_math"),
        ((torch.double,), {}, "_scaled_dot_product_attention_math"),
    ],
)
def test_attention_is_computed_by_the_kernel_that_cuda_chooses(wanted, options, kernel):
    given = inputs(*wanted)
    there = {name: x.cuda() if torch.is_tensor(x) else x for name, x in options.items()}
    seen = Seen()
    with seen:
        result = F.scaled_dot_product_attention(*given, **there)
    assert kernel.endswith("math") != (kernel in seen.names)  # math is made of other operators
    assert not any("for_cpu" in name for name in seen.names)
    result.float().sin().sum().backward()
    host = [x.detach().cpu().double().requires_grad_() for x in given]
    expected = F.scaled_dot_product_attention(*host, **options)
    expected.sin().sum().backward()
    tolerance = {torch.bfloat16: 4e-2, torch.half: 4e-3}.get(given[0].dtype, 1e-5)
    for one, other in zip(
        [result, *(x.grad for x in given)], [expected, *(x.grad for x in host)], strict=True
    ):
        assert_close(one.detach().cpu().double(), other.detach(), atol=tolerance, rtol=tolerance)


def test_the_choice_of_a_kernel_can_be_asked_for():
    half, single = inputs(torch.half), inputs(torch.float)
    assert torch._fused_sdp_choice(*half) == SDPBackend.FLASH_ATTENTION.value
    assert torch._fused_sdp_choice(*single) == SDPBackend.EFFICIENT_ATTENTION.value
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION], set_priority=True):
        assert torch._fused_sdp_choice(*half) == SDPBackend.MATH.value


def test_a_program_may_ask_which_kernels_take_its_tensors():
    half, single, wide = (torch.randn(2, 4, 16, width, device=CUDA) for width in (64, 64, 512))
    half, backends = half.half(), torch.backends.cuda

    def asked(tensor, mask=None, debug=False):
        given = backends.SDPAParams(tensor, tensor, tensor, mask, 0.0, False, False)
        questions = "flash", "efficient", "cudnn"
        return [getattr(backends, f"can_use_{name}_attention")(given, debug) for name in questions]

    assert backends.is_flash_attention_available()
    assert asked(half) == [True, True, True]
    assert asked(single) == [False, True, False]
    assert asked(half, torch.ones(16, 16, device=CUDA, dtype=torch.half)) == [False, True, True]
    assert asked(wide.half()) == [False, True, False]
    with pytest.warns(UserWarning, match="Expected query, key and value to all be of dtype"):
        asked(single, debug=True)
    with pytest.warns(UserWarning, match="All tensors need to be on cuda device. Got query on device: cpu"):
        assert not asked(half.cpu(), debug=True)[0]
    with sdpa_kernel(SDPBackend.MATH):
        assert asked(half) == [False, False, False]


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_a_mask_from_the_lower_right_is_masked_there(dtype):
    torch.manual_seed(0)
    bias = causal_lower_right(8, 24)
    given = [torch.randn(2, 3, rows, 16, device="cuda", dtype=dtype) for rows in (8, 24, 24)]
    leaves, wide = ([each.to(kind).requires_grad_() for each in given] for kind in (dtype, torch.float64))
    result = F.scaled_dot_product_attention(*leaves, attn_mask=bias)
    expected = F.scaled_dot_product_attention(*wide, attn_mask=bias._materialize("cuda"))
    tolerance = {"rtol": 2e-2, "atol": 2e-3} if dtype is torch.float16 else {"rtol": 1e-4, "atol": 1e-5}
    torch.testing.assert_close(result.double(), expected, **tolerance)
    for found, wanted in zip(
        torch.autograd.grad(result.sum(), leaves), torch.autograd.grad(expected.sum(), wide), strict=True
    ):
        torch.testing.assert_close(found.double(), wanted, **tolerance)


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        ("FLASH_ATTENTION", "Flash Attention"),
        ("EFFICIENT_ATTENTION", "Memory Efficient attention"),
        ("CUDNN_ATTENTION", "cuDNN Attention"),
    ],
)
def test_a_gradients_order_is_warned_of(kernel, name):
    kernel = getattr(SDPBackend, kernel)
    given = [torch.randn(1, 2, 8, 16, device="cuda", dtype=torch.half, requires_grad=True) for _ in range(3)]
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with sdpa_kernel(kernel), pytest.warns(UserWarning, match=f"{name} defaults to a non-deterministic"):
            F.scaled_dot_product_attention(*given).sum().backward()
        torch.use_deterministic_algorithms(True)
        if kernel is SDPBackend.CUDNN_ATTENTION:
            raises = pytest.raises(RuntimeError, match="No available kernel")
            with warnings.catch_warnings(), sdpa_kernel(kernel), raises:
                warnings.simplefilter("ignore")  # one for each kernel says why
                F.scaled_dot_product_attention(*given)
    finally:
        torch.use_deterministic_algorithms(False)

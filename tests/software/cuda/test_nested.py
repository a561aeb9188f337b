"""Nested tensors, strided and jagged, work on the device."""

import copy
import io
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.testing import assert_close

PARTS = [(2, 4), (5, 4)]


def nested(device="cpu", layout=torch.strided, seed=0, sizes=PARTS):
    torch.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that they are a prototype
        return torch.nested.nested_tensor([torch.randn(size) for size in sizes], layout=layout, device=device)


def same(actual, expected):
    if expected.is_nested:
        assert actual.is_nested
        assert actual.is_cuda
        pairs = zip(actual.unbind(), expected.unbind(), strict=True)
    else:
        pairs = [(actual, expected)]
    for one, other in pairs:
        assert one.is_cuda
        torch.testing.assert_close(one.cpu(), other)


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_moves_copy(layout):
    host = nested(layout=layout)
    there = host.cuda()
    assert (there.device, there.layout, there.is_nested) == (torch.device("cuda:0"), layout, True)
    back = there.cpu()
    assert back.device.type == "cpu"
    there.mul_(2)
    same(there, host * 2)
    torch.testing.assert_close(back.unbind()[0], host.unbind()[0])
    if layout is torch.strided:
        assert there.to("cuda") is there
    assert nested("cuda", layout).is_cuda
    assert there.to("cuda:1").device.index == there.clone().to("cuda:1").device.index == 1


UNARY = {
    "add": lambda t: t + t,
    "scale": lambda t: t * 2,
    "negate": lambda t: -t,
    "relu": F.relu,
    "gelu": F.gelu,
    "tanh": torch.tanh,
    "dropout": lambda t: F.dropout(t, 0.0),
    "transpose": lambda t: t.transpose(1, 2),
    "double": lambda t: t.double(),
    "reshape": lambda t: t.reshape(2, -1, 2, 2),
    "unsqueeze": lambda t: t.unsqueeze(1),
    "chunk": lambda t: t.chunk(2, -1)[1],
    "zeros_like": torch.zeros_like,
    "first": lambda t: t[0],
    "softmax": lambda t: torch.softmax(t, -1),
    "layer_norm": lambda t: F.layer_norm(t, (4,), torch.ones(4).to(t.device), torch.zeros(4).to(t.device)),
    "linear": lambda t: F.linear(t, torch.ones(3, 4, device=t.device)),
    "matmul": lambda t: torch.matmul(t, t.transpose(1, 2)),
    "padded": lambda t: t.to_padded_tensor(-1.0),
    "cat": lambda t: torch.cat([t, t]),
}


@pytest.mark.parametrize("name", UNARY)
def test_operators_are_the_cpus(name):
    same(UNARY[name](nested().cuda()), UNARY[name](nested()))


def test_operators_of_jagged_ones_are_the_cpus():
    host = nested(layout=torch.jagged)
    there = host.cuda()
    assert there.values().is_cuda
    assert there.offsets().is_cuda
    for operator in (
        lambda t: t.to_padded_tensor(0.0),
        lambda t: torch.softmax(t, -1).values(),
        lambda t: t.sum(1),
        lambda t: F.layer_norm(t, (4,)).values(),
        lambda t: (t * t.mean(1, keepdim=True)).values(),
    ):
        same(operator(there), operator(host))


def test_what_cuda_has_no_kernel_for_is_refused():
    with pytest.raises(NotImplementedError, match="aten::sum.dim_IntList.*NestedTensorCUDA"):
        nested().cuda().sum(-1, keepdim=True)


def test_gradients_are_the_cpus():
    def gradients(device):
        torch.manual_seed(1)
        linear, norm = nn.Linear(4, 3), nn.LayerNorm(4)
        parts = [torch.randn(size).to(device).requires_grad_() for size in PARTS]
        linear, norm = linear.to(device), norm.to(device)
        result = torch.softmax(linear(norm(torch.nested.as_nested_tensor(parts))), -1)
        result.to_padded_tensor(0.0).pow(2).sum().backward()
        return [x.grad.cpu() for x in (*parts, linear.weight, norm.weight)]

    for actual, expected in zip(gradients("cuda"), gradients("cpu"), strict=True):
        torch.testing.assert_close(actual, expected)


def test_encoders_take_their_fast_path():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=True).eval()
    x, padding = torch.randn(3, 5, 8), torch.zeros(3, 5, dtype=torch.bool)
    padding[1, 3:] = padding[2, 1:] = True
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = encoder(x, src_key_padding_mask=padding)
        actual = copy.deepcopy(encoder).cuda()(x.cuda(), src_key_padding_mask=padding.cuda())
    torch.testing.assert_close(actual.cpu(), expected)


def test_files_name_their_device():
    file = io.BytesIO()
    torch.save(nested().cuda(), file)
    for where, device in ((None, "cuda"), ("cpu", "cpu")):
        file.seek(0)
        assert torch.load(file, map_location=where, weights_only=False).device.type == device


def heads_of(lengths, dtype=torch.half, width=16, device="cuda", **options):
    torch.manual_seed(len(lengths))
    parts = [torch.randn(length, 4, width, dtype=dtype) for length in lengths]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.nested.nested_tensor(parts, device=device, **options)


def attention_of_each(query, key, value, **options):
    """Return the attention of each part by torch on the CPU in double, heads last."""
    parts = ([part.cpu().double().transpose(0, 1) for part in each.unbind()] for each in (query, key, value))
    return [
        F.scaled_dot_product_attention(*each, **options).transpose(0, 1) for each in zip(*parts, strict=True)
    ]


@pytest.mark.parametrize("dtype", [torch.half, torch.float])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_heads_in_the_middle(dtype, causal):
    """The layout of a transformer's own heads: on CUDA a fused kernel takes it, torch's math does not."""
    x = heads_of([3, 5, 2], dtype)
    heads = x.transpose(1, 2)
    result = F.scaled_dot_product_attention(heads, heads, heads, is_causal=causal).transpose(1, 2)
    assert result.is_contiguous()
    for one, other in zip(result.unbind(), attention_of_each(x, x, x, is_causal=causal), strict=True):
        assert one.device == torch.device("cuda:0")
        torch.testing.assert_close(one.cpu().double(), other, atol=2e-3, rtol=2e-3)


def test_attention_of_keys_of_other_lengths_has_gradients():
    query, key = heads_of([3, 5], requires_grad=True), heads_of([4, 2])
    result = F.scaled_dot_product_attention(*(each.transpose(1, 2) for each in (query, key, key)))
    sum(part.float().sum() for part in result.unbind()).backward()
    leaf = [part.detach().cpu().double().requires_grad_() for part in query.unbind()]
    for part, keys in zip(leaf, key.unbind(), strict=True):
        heads = [each.transpose(0, 1) for each in (part, keys.cpu().double())]
        F.scaled_dot_product_attention(heads[0], heads[1], heads[1]).sum().backward()
    for one, other in zip(query.grad.unbind(), leaf, strict=True):
        torch.testing.assert_close(one.cpu().double(), other.grad, atol=2e-3, rtol=2e-3)


@pytest.mark.parametrize(
    ("kernel", "options", "reason"),
    [
        ("FLASH_ATTENTION", {"width": 12}, "For NestedTensor inputs, Flash attention requires"),
        ("FLASH_ATTENTION", {"lengths": [3, 0]}, "do not support seq_len == 0"),
        ("EFFICIENT_ATTENTION", {"requires_grad": True}, "training with NT inputs"),
        ("CUDNN_ATTENTION", {}, "nested tensor support is not enabled"),
    ],
)
def test_a_kernel_that_cuda_has_not_for_nested_tensors_is_refused(kernel, options, reason):
    heads = heads_of(**{"lengths": [3, 5], **options}).transpose(1, 2)
    with warnings.catch_warnings(record=True) as said, sdpa_kernel(getattr(SDPBackend, kernel)):
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError, match="No available kernel"):
            F.scaled_dot_product_attention(heads, heads, heads)
    assert any(reason in str(each.message) for each in said)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_jagged_sequences_is_that_of_each(dtype, causal):
    torch.manual_seed(0)
    parts = [torch.randn(length, 2, 16, device="cuda", dtype=dtype) for length in (3, 5, 2)]
    together = torch.nested.nested_tensor(parts, layout=torch.jagged, requires_grad=True)
    heads = together.transpose(1, 2)
    result = F.scaled_dot_product_attention(heads, heads, heads, is_causal=causal)
    (gradient,) = torch.autograd.grad(result.values().sum(), together)
    for part, one, its_gradient in zip(parts, result.unbind(), gradient.unbind(), strict=True):
        own = part.detach().cpu().float().transpose(0, 1).requires_grad_()
        expected = F.scaled_dot_product_attention(own, own, own, is_causal=causal)
        assert_close(one.cpu().float(), expected, atol=3e-3, rtol=3e-3)
        (of_own,) = torch.autograd.grad(expected.sum(), own)
        assert_close(its_gradient.cpu().float().transpose(0, 1), of_own, atol=1e-2, rtol=1e-2)


def test_a_dense_row_for_each_part():
    dense = torch.randn(2, 1, 4)
    for operation in (torch.add, torch.mul):
        found = operation(nested("cuda"), dense.cuda()).unbind()
        for part, other, result in zip(nested().unbind(), dense, found, strict=True):
            assert torch.equal(result.cpu(), operation(part, other))


@pytest.mark.parametrize(
    ("shape", "why"),
    [((2, 8, 4), "extends into irregular dimensions"), ((4, 4), "The shape at dimension 0")],
)
def test_a_norm_of_a_shape_that_the_parts_have_not(shape, why):
    like = nested("cuda", sizes=[(2, 8, 4), (6, 8, 4)])
    with pytest.raises(RuntimeError, match=why):
        torch.nn.LayerNorm(shape, device="cuda")(like)

"""Nested tensors, strided and jagged, work on the device."""

import copy
import io
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

PARTS = [(2, 4), (5, 4)]


def nested(device="cpu", layout=torch.strided, seed=0):
    torch.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that they are a prototype
        return torch.nested.nested_tensor([torch.randn(size) for size in PARTS], layout=layout, device=device)


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

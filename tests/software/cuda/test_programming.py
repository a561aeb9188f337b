"""Features that programs use: checkpoints, TorchScript, transforms, custom operators, autocast, hooks."""

import io
import pathlib

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.func import functional_call, grad, jacrev, jvp, vmap

from tests.software.cuda.deprecation import ignoring_deprecation


def saved(value, **options):
    file = io.BytesIO()
    torch.save(value, file, **options)
    file.seek(0)
    return file


def test_checkpoints_are_mapped(tmp_path: pathlib.Path):
    torch.save({"x": torch.ones(2, device="cuda")}, tmp_path / "x.pt")
    assert torch.load(tmp_path / "x.pt", mmap=True)["x"].is_cuda


@ignoring_deprecation
def test_scripts_see_the_device():
    @torch.jit.script
    def choose(x):
        # type: (Tensor) -> Tensor
        if x.is_cuda:
            return x.to("cuda:1") + torch.zeros([1], device=torch.device("cuda:1"))
        return torch.zeros([1], device=x.device)

    assert str(choose(torch.ones(1, device="cuda")).device) == "cuda:1"
    assert choose(torch.ones(1)).device.type == "cpu"


@ignoring_deprecation
def test_scripts_index_by_masks():
    @torch.jit.script
    def clear(x, mask):
        # type: (Tensor, Tensor) -> Tuple[Tensor, Tensor]
        cleared = x.clone()
        cleared[mask] = -1.0
        return cleared, x[mask, :1]

    x, mask = torch.arange(6.0, device="cuda").view(3, 2), torch.tensor([True, False, True], device="cuda")
    cleared, taken = clear(x, mask)
    assert cleared.is_cuda
    assert cleared.tolist() == [[-1, -1], [2, 3], [-1, -1]]
    assert taken.is_cuda
    assert taken.tolist() == [[0], [4]]
    with pytest.raises(RuntimeError, match="indices should be either on cpu or on the same device"):
        clear(x.cpu(), mask)


def test_fake_and_meta_tensors():
    with FakeTensorMode() as mode:
        x = torch.empty(2, 2, device="cuda")
        assert (x @ x).device == torch.device("cuda:0")
        assert nn.Linear(2, 2, device="cuda")(x).device.type == "cuda"
        with pytest.raises(RuntimeError, match="device"):
            x @ torch.empty(2, 2)
    assert mode.from_tensor(torch.ones(2, device="cuda:1")).device.index == 1
    assert nn.Linear(2, 2, device="meta").to_empty(device="cuda").weight.is_cuda


@ignoring_deprecation
def test_transforms_of_functions():
    x = torch.randn(3, 4, device="cuda")
    torch.testing.assert_close(grad(lambda t: t.sin().sum())(x).cpu(), x.cpu().cos())
    assert jvp(torch.sin, (x,), (torch.ones_like(x),))[1].is_cuda
    assert jacrev(torch.sin)(x[0]).shape == (4, 4)
    torch.testing.assert_close(vmap(lambda t: t @ t)(x).cpu(), (x * x).sum(1).cpu())
    assert vmap(lambda t: F.dropout(t, 0.5), randomness="different")(x).is_cuda
    layer, images = nn.Conv2d(1, 2, 3).cuda(), torch.randn(3, 1, 5, 5, device="cuda")

    def loss(parameters, image):
        return functional_call(layer, parameters, (image[None],)).sum()

    parameters = {name: each.detach() for name, each in layer.named_parameters()}
    gradients = vmap(grad(loss), in_dims=(None, 0))(parameters, images)
    assert gradients["weight"].shape == (3, 2, 1, 3, 3)
    assert gradients["weight"].is_cuda


def test_autocast_has_cudas_dtype_and_lists():
    a = torch.randn(4, 4, device="cuda")
    with torch.autocast("cuda"):
        half = a @ a
        assert half.dtype is F.linear(a, a).dtype is torch.get_autocast_dtype("cuda") is torch.float16
        for operator in (torch.exp, torch.log, torch.norm, lambda t: F.softmax(t, 1), lambda t: t.cumsum(0),
                         lambda t: F.layer_norm(t, (4,)), lambda t: t.sum(), lambda t: t**2):  # fmt: skip
            assert operator(half).dtype is torch.float32
        assert torch.cat([half, a]).dtype is (half + a).dtype is torch.float32
        assert nn.LSTM(4, 4).cuda()(a[None])[0].dtype is torch.float16
        assert nn.MultiheadAttention(4, 2).cuda()(a, a, a)[0].dtype is torch.float16
        assert (a.cpu() @ a.cpu()).dtype is torch.float32
        assert (a.double() @ a.double()).dtype is torch.float64
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            F.binary_cross_entropy(a.sigmoid(), a.sigmoid())
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert (a @ a).dtype is torch.bfloat16
    with torch.autocast("cpu"):
        assert (a @ a).dtype is torch.float32


class Wrapped(torch.Tensor):
    """A subclass that refuses all operators below autograd, as torchao's NF4 refuses unknown ones."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        raise NotImplementedError(str(function))


def test_a_subclass_is_asked_no_more_than_on_the_host():
    for device in ("cpu", "cuda"):
        wrapped = Wrapped(torch.ones(2, device=device))
        assert torch._has_compatible_shallow_copy_type(wrapped, wrapped), device

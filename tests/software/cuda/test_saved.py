"""What kernels return for the backward pass beside their results, as CUDA's do."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

CUDA = torch.device("cuda:0")


@pytest.mark.parametrize("training", [True, False])
def test_batches_say_what_they_were_normalized_by(training):
    x, (mean, variance) = torch.randn(3, 2, 4, device=CUDA), torch.rand(2, 2, device=CUDA)
    expected = (x.mean((0, 2)), x.var((0, 2), correction=0)) if training else (mean.clone(), variance.clone())
    for operator in (torch.native_batch_norm, torch._native_batch_norm_legit):
        _, by, scale = operator(x, None, None, mean.clone(), variance.clone(), training, 0.1, 1e-5)
        assert_close((by, scale), (expected[0], (expected[1] + 1e-5).rsqrt()))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_halves_are_normalized_in_single_precision(training, affine):
    layer = nn.BatchNorm1d(2, affine=affine).half().to(CUDA).train(training)
    plain = nn.BatchNorm1d(2, affine=affine).to(CUDA).train(training)
    given = torch.randint(1, 9, (3, 2, 4), device=CUDA).half()
    halves, singles = given.requires_grad_(), given.detach().float().requires_grad_()
    result, expected = layer(halves), plain(singles)
    gradient = torch.randint(-3, 4, (3, 2, 4), device=CUDA).half()
    result.backward(gradient)
    expected.backward(gradient.float())
    assert torch.equal(result, expected.half())
    assert_close(halves.grad, singles.grad.half(), atol=2e-3, rtol=1e-3)
    for name, parameter in layer.named_parameters():
        assert_close(parameter.grad, plain.get_parameter(name).grad.half())
    figures = [plain.running_mean.half(), plain.running_var.half()]
    assert_close([layer.running_mean, layer.running_var], figures)


def test_halves_save_single_precision():
    x = torch.rand(3, 2, 4, device=CUDA).half()
    for saved in torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)[1:]:
        assert saved.dtype == torch.float32
    for saved in torch._native_batch_norm_legit(x, None, None, True, 0.1, 1e-5)[1:]:
        assert saved.dtype == torch.float32


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("ends", [False, True])
def test_bags_say_which_index_is_theirs(mode, ends):
    weight = torch.randn(10, 3, device=CUDA, requires_grad=True)
    indices = torch.tensor([1, 2, 4, 5, 4, 3], device=CUDA)
    offsets = torch.tensor([0, 2, 2, *([6] if ends else [])], device=CUDA)
    number = ["sum", "mean", "max"].index(mode)
    with torch.no_grad():
        _, bag, sizes, largest = torch._embedding_bag(
            weight, indices, offsets, mode=number, include_last_offset=ends
        )
    assert bag.tolist() == [0, 0, 2, 2, 2, 2]
    assert (sizes.shape, largest.shape) == (offsets.shape, (3, 3) if mode == "max" else (0,))
    assert sizes.tolist()[:3] == [2, 0, 4]
    F.embedding_bag(indices, weight, offsets, mode=mode, include_last_offset=ends).pow(2).sum().backward()
    plain = weight.detach().cpu().requires_grad_()
    result = F.embedding_bag(indices.cpu(), plain, offsets.cpu(), mode=mode, include_last_offset=ends)
    result.pow(2).sum().backward()
    assert_close(weight.grad.cpu(), plain.grad)


def test_rows_of_attentions_sums_are_padded():
    query, key, value = (torch.randn(2, 4, 3, 8, device=CUDA, requires_grad=True) for _ in range(3))
    result, sums, *_ = torch.ops.aten._scaled_dot_product_efficient_attention(query, key, value, None, True)
    assert sums.shape == (2, 4, 32)
    assert sums[:, :, 3:].isposinf().all()
    scores = query @ key.mT / 8**0.5
    assert_close(sums[:, :, :3], scores.logsumexp(-1))
    (gradient,) = torch.autograd.grad(result.sum(), query)
    (expected,) = torch.autograd.grad((scores.softmax(-1) @ value).sum(), query)
    assert_close(gradient, expected)


def test_batches_are_normalized_into_what_is_given():
    x, (mean, variance) = torch.randn(3, 2, 4, device=CUDA), torch.rand(2, 2, device=CUDA)
    given = torch.empty(3, 2, 4, device=CUDA), torch.empty(2, device=CUDA), torch.empty(2, device=CUDA)
    torch.native_batch_norm(x, None, None, mean, variance, False, 0.1, 1e-5, out=given)
    assert_close(given, torch.native_batch_norm(x, None, None, mean, variance, False, 0.1, 1e-5))
    with pytest.raises(RuntimeError, match="found at least two devices, cuda:0 and cpu"):
        torch.native_batch_norm(x, None, None, mean, variance, False, 0.1, 1e-5, out=[y.cpu() for y in given])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("affine", [True, False])
def test_layers_of_halves_are_normalized_by_single_numbers(dtype, affine):
    x = torch.randn(5, 64, device=CUDA, dtype=dtype) + 100
    layer = nn.LayerNorm(64, elementwise_affine=affine, device=CUDA, dtype=dtype)
    result, mean, scale = torch.native_layer_norm(x, (64,), layer.weight, layer.bias, 1e-5)
    wide = x.double()
    assert (result.dtype, mean.dtype, scale.dtype) == (dtype, torch.float32, torch.float32)
    assert_close(mean, wide.mean(1, keepdim=True).float())
    assert_close(scale, (wide.var(1, correction=0, keepdim=True) + 1e-5).rsqrt().float())
    here, there = x.requires_grad_(), wide.requires_grad_()
    layer(here).pow(3).sum().backward()
    F.layer_norm(there, (64,)).pow(3).sum().backward()
    assert here.grad.dtype == dtype
    assert_close(here.grad.double(), there.grad, rtol=0.1, atol=0.05)
    if affine:
        assert layer.weight.grad.dtype == layer.bias.grad.dtype == dtype


def test_a_logarithm_of_sigmoids_saves_nothing():
    x = torch.randn(5, device=CUDA, requires_grad=True)
    result, saved = torch.ops.aten.log_sigmoid_forward(x)
    assert saved.numel() == 0
    assert_close(result, x.sigmoid().log())
    (gradient,) = torch.autograd.grad(F.logsigmoid(x).sum(), x)
    assert_close(gradient, torch.sigmoid(-x))


def test_a_lazy_clone_of_running_figures_is_its_own():
    source = torch.zeros(2, device=CUDA)
    mean, variance = torch._lazy_clone(source), torch.ones(2, device=CUDA)
    F.batch_norm(torch.randn(3, 2, 4, device=CUDA), mean, variance, training=True)
    assert source.tolist() == [0, 0]
    assert mean.ne(0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_batches_of_halves_have_gradients_outside_training(dtype):
    x = torch.randn(3, 2, 4, device=CUDA, dtype=dtype, requires_grad=True)
    mean, variance = torch.rand(2, 2, device=CUDA, dtype=dtype)
    (gradient,) = torch.autograd.grad(F.batch_norm(x, mean, variance).sum(), x)
    expected = (variance.float() + 1e-5).rsqrt()[:, None].expand(3, 2, 4)
    assert_close(gradient.float(), expected, atol=0.05, rtol=0.01)


@pytest.mark.parametrize("training", [True, False])
def test_statistics_in_single_precision_beside_half_parameters(training):
    x, weight, bias = torch.randn(6, 3), torch.rand(3), torch.randn(3)
    half = [tensor.half().to(CUDA).requires_grad_() for tensor in (x, weight, bias)]
    running = torch.zeros(3, device=CUDA), torch.ones(3, device=CUDA)
    result = F.batch_norm(half[0], *running, *half[1:], training)
    plain = [tensor.detach().cpu().float().requires_grad_() for tensor in half]
    expected_running = torch.zeros(3), torch.ones(3)
    expected = F.batch_norm(plain[0], *expected_running, *plain[1:], training)
    assert_close(result.cpu(), expected.half())
    assert_close([tensor.cpu() for tensor in running], list(expected_running))
    gradients = torch.autograd.grad((result.float() ** 2).sum(), half)
    expected_gradients = torch.autograd.grad((expected**2).sum(), plain)
    assert [g.dtype for g in gradients] == [torch.half] * 3
    assert_close([g.cpu().float() for g in gradients], list(expected_gradients), rtol=2e-2, atol=2e-2)
    image = torch.randn(2, 3, 4, 4, device=CUDA, dtype=torch.half, requires_grad=True)
    with pytest.raises(RuntimeError, match="expected scalar type Half but found Float"):
        F.batch_norm(image, *running, *half[1:], training).sum().backward()
    with pytest.raises(RuntimeError, match="expected scalar type|mixed dtype"):
        F.batch_norm(x.to(CUDA), *running, *half[1:], training)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_an_update_in_halves_saves_single_precision(dtype):
    x, (mean, variance) = torch.randn(3, 2, 4, device=CUDA, dtype=dtype), torch.rand(2, 2, device=CUDA)
    _, by, scale, reserve = torch.ops.aten._batch_norm_with_update(x, None, None, mean, variance, 0.1, 1e-5)
    assert by.dtype == scale.dtype == torch.float32
    assert_close(by, x.float().mean((0, 2)))
    assert (reserve.dtype, reserve.shape) == (torch.uint8, (0,))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_gradients_after_an_update_are_those_of_the_layer(dtype):
    layer = nn.BatchNorm1d(2).to(CUDA, dtype)
    x = torch.randint(1, 9, (3, 2, 4), device=CUDA).to(dtype).requires_grad_()
    gradient = torch.randint(-3, 4, (3, 2, 4), device=CUDA).to(dtype)
    layer(x).backward(gradient)
    expected = [x.grad.clone(), layer.weight.grad.clone(), layer.bias.grad.clone()]
    figures = torch.zeros(2, device=CUDA, dtype=dtype), torch.ones(2, device=CUDA, dtype=dtype)
    x.grad = layer.weight.grad = layer.bias.grad = None
    update = torch.ops.aten._batch_norm_with_update
    update(x, layer.weight, layer.bias, *figures, 0.1, 1e-5)[0].backward(gradient)
    assert_close([x.grad, layer.weight.grad, layer.bias.grad], expected)


def test_nothing_is_saved_of_log_sigmoid_into_a_tensor():
    x, buffer = torch.randn(5, device=CUDA), torch.ones(3, device=CUDA)
    output = torch.empty(5, device=CUDA)
    torch.ops.aten.log_sigmoid_forward.output(x, output=output, buffer=buffer[:0])
    assert_close(output, F.logsigmoid(x))


def test_complex_numbers_are_added_into_a_tensor_without_those_that_are_none():
    x, out = (
        torch.tensor([1 + 2j, complex("nan"), 3j], device=CUDA),
        torch.empty((), device=CUDA, dtype=torch.cfloat),
    )
    torch.ops.aten.nansum.out(x, None, False, out=out)
    assert out.item() == 1 + 5j


def test_the_gradient_of_silu_is_one_operator():
    from torch.utils._python_dispatch import TorchDispatchMode

    called = []

    class Record(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            called.append(str(function))
            return function(*args, **(kwargs or {}))

    x = torch.randn(4, device=CUDA, requires_grad=True)
    with Record():
        F.silu(x).sum().backward()
    assert "aten.silu_backward.default" in called

"""Operators with kernels for CUDA only give the same numbers as their reference computation."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

CUDA = torch.device("cuda:0")


def test_softmax_widens_half_precision():
    x = torch.randn(3, 4, device=CUDA).half()
    for forward, backward, reference in (
        (torch._softmax, torch._softmax_backward_data, torch.softmax),
        (torch._log_softmax, torch._log_softmax_backward_data, torch.log_softmax),
    ):
        result = forward(x, 1, True)
        assert (result.dtype, result.device) == (torch.float32, CUDA)
        assert_close(result.cpu(), reference(x.cpu().float(), 1))
        assert backward(torch.ones_like(result), result, 1, torch.float16).dtype is torch.float16
    with torch.autocast("cuda"):
        assert F.softmax(x, 1).dtype is F.cross_entropy(x, x.argmax(1)).dtype is torch.float32
    with pytest.raises(RuntimeError, match="conversion is supported for Half type only"):
        torch._softmax(x.float(), 1, True)


def test_gradients_of_widened_softmax_are_the_cpus():
    x = torch.randn(3, 4).half()
    here, there = x.clone().requires_grad_(), x.cuda().requires_grad_()
    for each in (here, there):
        torch.softmax(each, 1, dtype=torch.float32).pow(2).sum().backward()
    assert_close(there.grad.cpu(), here.grad)


def ctc(device, lengths_dtype=torch.int32):
    torch.manual_seed(0)
    scores = torch.randn(10, 3, 5).log_softmax(2).to(device).requires_grad_()
    targets = torch.tensor([1, 2, 3, 1, 2, 1], dtype=torch.int32)
    lengths = torch.tensor([10, 10, 10], dtype=lengths_dtype), torch.tensor([3, 2, 1], dtype=lengths_dtype)
    F.ctc_loss(scores, targets, *lengths).backward()
    return scores.grad.cpu()


def test_ctc_loss_is_cudnns_where_torch_chooses_it():
    assert_close(ctc("cuda"), ctc("cpu"))
    scores, targets = (
        torch.randn(10, 1, 5, device=CUDA).log_softmax(2),
        torch.tensor([1, 2], dtype=torch.int32),
    )
    assert torch._use_cudnn_ctc_loss(scores, targets, [10], [2], 0)
    assert not torch._use_cudnn_ctc_loss(scores, targets.cuda(), [10], [2], 0)
    losses, gradient = torch._cudnn_ctc_loss(scores, targets, [10], [2], 0, True, False)
    assert (losses.shape, gradient.shape, losses.device) == ((1,), (10, 1, 5), CUDA)
    torch.backends.cudnn.enabled = False
    try:
        assert_close(ctc("cuda"), ctc("cpu"))
    finally:
        torch.backends.cudnn.enabled = True


def test_batches_normalized_in_parts_are_as_one():
    torch.manual_seed(0)
    x, weight, bias = torch.randn(8, 3, 4, 4), torch.rand(3), torch.rand(3)
    parts = [part.cuda() for part in x.split([3, 5])]
    stats = [torch.batch_norm_stats(part, 1e-5) for part in parts]
    counts = torch.tensor([part.numel() / 3 for part in parts], device=CUDA)
    means, deviations = (torch.stack(each) for each in zip(*stats, strict=True))
    running = [torch.zeros(3, device=CUDA), torch.ones(3, device=CUDA)]
    mean, invstd = torch.batch_norm_gather_stats_with_counts(
        parts[0], means, deviations, *running, 0.1, 1e-5, counts
    )
    results = [torch.batch_norm_elemt(part, weight.cuda(), bias.cuda(), mean, invstd, 1e-5) for part in parts]
    whole, scale = x.clone().requires_grad_(), weight.clone().requires_grad_()
    expected_running = [torch.zeros(3), torch.ones(3)]
    expected = F.batch_norm(whole, *expected_running, scale, bias, True, 0.1, 1e-5)
    assert_close(torch.cat(results).cpu(), expected.detach())
    assert_close([each.cpu() for each in running], expected_running)

    upstream = torch.randn_like(x)
    expected.backward(upstream)
    pieces = [piece.cuda() for piece in upstream.split([3, 5])]
    sums = [
        torch.batch_norm_backward_reduce(piece, part, mean, invstd, weight.cuda(), True, True, True)
        for piece, part in zip(pieces, parts, strict=True)
    ]
    dy, dy_x, of_weight, _ = (sum(each) for each in zip(*sums, strict=True))
    of_input = [
        torch.batch_norm_backward_elemt(piece, part, mean, invstd, weight.cuda(), dy, dy_x, counts.int())
        for piece, part in zip(pieces, parts, strict=True)
    ]
    assert_close(torch.cat(of_input).cpu(), whole.grad)
    assert_close(of_weight.cpu(), scale.grad)


def test_cudnns_operators_are_torchs():
    torch.manual_seed(0)
    x, weight = torch.randn(2, 4, 5, 5, device=CUDA), torch.randn(6, 4, 3, 3, device=CUDA)
    expected = F.conv2d(x, weight, padding=1)
    ones, options = [1, 1], (1, False, False, False)
    assert_close(torch.cudnn_convolution(x, weight, ones, ones, ones, *options), expected)
    assert_close(torch.cudnn_convolution_relu(x, weight, None, ones, ones, ones, 1), expected.relu())
    back = torch.cudnn_convolution_transpose(x, weight.transpose(0, 1), ones, [0, 0], ones, ones, *options)
    assert_close(back, F.conv_transpose2d(x, weight.transpose(0, 1), padding=1))
    depthwise = torch.ops.aten._conv_depthwise2d(x, weight[:4, :1], [3, 3], None, ones, ones, ones)
    assert_close(depthwise, F.conv2d(x, weight[:4, :1], padding=1, groups=4))
    grid = torch.rand(2, 3, 3, 2, device=CUDA)
    assert_close(torch.cudnn_grid_sampler(x, grid), F.grid_sample(x, grid, align_corners=True))


def test_gradients_of_mish_in_half_precision_are_the_kernels():
    tensor = torch.linspace(-4, 4, 200, dtype=torch.float16)
    grads = [torch.autograd.grad(F.mish(x).sum(), x)[0] for x in _leaves(tensor)]
    assert torch.equal(grads[0], grads[1].cpu())


def _leaves(tensor):
    return [tensor.detach().to(where).requires_grad_() for where in ("cpu", CUDA)]


@pytest.mark.parametrize("adjoint", [False, True])
def test_a_lazy_conjugate_is_written_to_what_is_given(adjoint):
    factors, pivots = torch.linalg.lu_factor(torch.randn(3, 3, dtype=torch.complex64))
    right = torch.randn(2, 3, dtype=torch.complex64)
    expected = torch.linalg.lu_solve(factors, pivots, right, left=False, adjoint=adjoint)
    out = torch.empty(0, dtype=torch.complex64, device=CUDA)
    given = [each.to(CUDA) for each in (factors, pivots, right)]
    assert torch.linalg.lu_solve(*given, left=False, adjoint=adjoint, out=out) is out
    assert_close(out.cpu(), expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_products_widen(dtype):
    a, b = (torch.randn(4, 4, device=CUDA).to(dtype) for _ in range(2))
    expected = a.float() @ b.float()
    assert_close(torch.mm(a, b, out_dtype=torch.float32), expected)
    assert_close(torch.bmm(a[None], b[None], out_dtype=torch.float32)[0], expected)
    assert_close(torch.addmm(a, a, b, out_dtype=torch.float32), expected + a.float())
    with pytest.raises(RuntimeError, match="out_dtype must be the same as input dtype or fp32"):
        torch.mm(a, b, out_dtype=torch.float64)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_products_widen_into_what_is_given(dtype):
    a, b = (torch.randn(4, 4, device=CUDA).to(dtype) for _ in range(2))
    out, batch = (torch.empty(*shape, device=CUDA) for shape in ((4, 4), (1, 4, 4)))
    assert torch.mm(a, b, out_dtype=torch.float32, out=out) is out
    assert_close(out, a.float() @ b.float())
    assert_close(torch.addmm(a, a, b, out_dtype=torch.float32, out=out), a.float() @ b.float() + a.float())
    assert_close(torch.bmm(a[None], b[None], out_dtype=torch.float32, out=batch)[0], a.float() @ b.float())
    torch.baddbmm(a[None], a[None], b[None], out_dtype=torch.float32, out=batch)
    assert_close(batch[0], out)
    with pytest.raises(RuntimeError, match="the dtype of the provided out tensor"):
        torch.mm(a, b, out_dtype=torch.float32, out=out.to(dtype))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128, torch.float32])
def test_physical_conjugates_in_place(dtype):
    tensor = torch.randn(3, dtype=dtype, device=CUDA)
    expected = tensor.cpu().conj().resolve_conj()
    assert tensor.conj_physical_() is tensor
    assert_close(tensor.cpu(), expected)


def test_fused_optimizers_scale_gradients():
    def trained(device, **options):
        torch.manual_seed(0)
        model = nn.Linear(4, 4).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, **options)
        scaler = torch.amp.GradScaler("cuda", init_scale=1024.0, growth_interval=2, enabled=device == "cuda")
        for step in range(5):
            torch.manual_seed(step)
            optimizer.zero_grad()
            loss = scaler.scale(model(torch.randn(3, 4).to(device)).pow(2).sum())
            if step == 2 and device == "cpu":
                continue  # this step overflows
            (loss * (float("inf") if step == 2 else 1)).backward()
            scaler.step(optimizer)
            scaler.update()
        return model.weight.detach().cpu()

    expected = trained("cpu")
    assert_close(trained("cuda", fused=True), expected)
    assert_close(trained("cuda", foreach=True), expected)


@pytest.mark.parametrize("rate", [torch.tensor(0.1), torch.tensor([0.1])])
@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD])
def test_fused_optimizers_take_a_rate_of_the_host(kind, rate):
    def stepped(lr):
        weight = torch.ones(4, device=CUDA, requires_grad=True)
        weight.grad = torch.arange(4.0, device=CUDA)
        kind([weight], lr=lr, fused=True).step()
        return weight.detach()

    assert_close(stepped(rate), stepped(0.1))


@pytest.mark.parametrize("name", ["_triton_scaled_dot_attention", "miopen_batch_norm"])
def test_what_has_no_software_kernel_is_refused_by_name(name):
    operator = getattr(torch.ops.aten, name).default
    arguments = [torch.ones(8, 8, device=CUDA).half() for _ in range(3)]
    if name == "miopen_batch_norm":
        arguments = [arguments[0], arguments[0], None, None, None, True, 0.1, 1e-5]
    with pytest.raises(NotImplementedError, match=f"Could not run 'aten::{name}'.*'CUDA' backend"):
        operator(*arguments)


def test_a_trace_of_truths_is_their_number():
    trace = torch.trace(torch.ones(3, 3, device=CUDA, dtype=torch.bool))
    assert (trace.item(), trace.dtype) == (3, torch.int64)


def in_columns(*sizes):
    return torch.empty(sizes[::-1], device=CUDA).permute(*reversed(range(len(sizes))))


def test_an_output_keeps_its_layout():
    x, pooled = torch.randn(2, 3, 4, 4, 4, device=CUDA), in_columns(2, 3, 2, 2, 2)
    torch._C._nn.avg_pool3d(x, 2, out=pooled)
    assert_close(pooled, F.avg_pool3d(x, 2))
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        torch._C._nn.avg_pool3d(x, 2, out=pooled.long())


def test_results_are_laid_out_as_cudas():
    matrix = torch.randn(5, 3, device=CUDA)
    assert torch.linalg.svd(matrix, full_matrices=False).Vh.is_contiguous()
    assert torch.linalg.lu_factor(matrix, pivot=False).LU.mT.is_contiguous()
    x = torch.randn(1, 2, 4, 4, device=CUDA).to(memory_format=torch.channels_last)
    pooled, indices = F.max_pool2d(x, 2, return_indices=True)
    assert F.max_unpool2d(pooled, indices, 2).is_contiguous()
    query = torch.randn(2, 4, 3, 8, device=CUDA).half()
    for each in (query, query.transpose(1, 2).contiguous().transpose(1, 2)):
        result = torch.ops.aten._scaled_dot_product_flash_attention(each, each, each)[0]
        assert result.stride() == each.stride()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("groups", [1, 16])
def test_convolutions_are_laid_out_as_cudnns(dtype, groups):
    for last, sizes in ((torch.channels_last, (20, 20)), (torch.channels_last_3d, (10, 18, 18))):
        image = torch.randn(1, 16, *sizes, dtype=dtype, device=CUDA)
        weight = torch.randn(16, 16 // groups, *[3] * len(sizes), dtype=dtype, device=CUDA)
        convolve = F.conv2d if len(sizes) == 2 else F.conv3d
        plain = convolve(image, weight, groups=groups)
        assert plain.is_contiguous()
        for given in ((image.to(memory_format=last), weight), (image, weight.to(memory_format=last))):
            result = convolve(*given, groups=groups)
            assert result.is_contiguous(memory_format=last)
            assert_close(result, plain)


def test_a_lazy_clone_is_copied():
    source = torch.ones(3, device=CUDA)
    lazy = torch._lazy_clone(source)
    assert torch.equal(lazy.half(), source.half())
    assert torch._C._is_cow_tensor(lazy)
    lazy[1:].copy_(lazy[:2] + 1)
    assert (source.tolist(), lazy.tolist()) == ([1, 1, 1], [1, 2, 2])


def test_transforms_have_cuffts_layout():
    x = torch.randn(5, 6, 7, device="cuda")
    result = torch.fft.rfftn(x)
    assert (result.shape, result.stride()) == ((5, 6, 4), (6, 1, 30))
    out = torch.fft.fft(x.to(torch.cfloat), dim=1, out=torch.empty(0, dtype=torch.cfloat, device="cuda"))
    assert out.stride() == (42, 1, 6)
    assert torch.fft.rfft(x[..., :2]).is_contiguous()
    assert torch.fft.fft(x[..., :2]).is_contiguous()
    assert_close(result.cpu(), torch.fft.rfftn(x.cpu()))
    assert_close(torch.fft.irfftn(result, x.shape), x)

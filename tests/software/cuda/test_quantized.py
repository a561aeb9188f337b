"""Quantized tensors work on the device as far as CUDA supports them."""

import copy
import io

import pytest
import torch

from tests.software.cuda.deprecation import ignoring_deprecation


def per_tensor(x):
    return torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)


def per_channel(x):
    scales, zeros = torch.tensor([0.1, 0.2, 0.3]).double(), torch.tensor([0, 1, 2])
    return torch.quantize_per_channel(x, scales.to(x.device), zeros.to(x.device), 0, torch.qint8)


@pytest.mark.parametrize("make", [per_tensor, per_channel])
@ignoring_deprecation
def test_they_are_made_moved_and_read(make):
    x = torch.linspace(-1, 1, 12).view(3, 4)
    host, there = make(x), make(x).cuda()
    made = make(x.cuda())
    for each in (there, made, there.clone(), there.to("cuda:1"), copy.deepcopy(there)):
        assert each.is_cuda
        assert each.is_quantized
        assert each.qscheme() == host.qscheme()
        assert each.dequantize().device == each.int_repr().device == each.device
        assert torch.equal(each.dequantize().cpu(), host.dequantize())
        assert torch.equal(each.int_repr().cpu(), host.int_repr())
        assert torch.equal(each.cpu().dequantize(), host.dequantize())
    assert there.to("cuda") is there


@ignoring_deprecation
def test_views_share_memory():
    there = per_tensor(torch.linspace(-1, 1, 12).view(3, 4)).cuda()
    assert there[1].is_quantized
    assert there.t().is_cuda
    assert there.view(4, 3).data_ptr() == there.data_ptr()
    there[0].fill_(0.5)
    assert there.dequantize()[0].tolist() == pytest.approx([0.5] * 4)


@ignoring_deprecation
def test_channels_keep_their_scales_on_the_device():
    there = per_channel(torch.ones(3, 4)).cuda()
    assert there.q_per_channel_scales().is_cuda
    assert there.q_per_channel_zero_points().is_cuda
    assert (there.q_per_channel_axis(), there.q_per_channel_scales()[1].item()) == (0, pytest.approx(0.2))


@ignoring_deprecation
def test_they_are_saved_and_printed():
    there, file = per_tensor(torch.ones(2, 2)).cuda(), io.BytesIO()
    torch.save(there, file)
    file.seek(0)
    assert torch.load(file, weights_only=False).is_cuda
    assert "device='cuda:0'" in str(there)
    assert "quantization_scheme" in str(there)


@ignoring_deprecation
def test_what_cuda_has_no_kernel_for_is_refused():
    there = per_tensor(torch.ones(2, 2)).cuda()
    with pytest.raises(NotImplementedError, match="aten::cat.*QuantizedCUDA"):
        torch.cat([there, there])

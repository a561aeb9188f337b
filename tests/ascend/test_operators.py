"""Operators on the soft CANN: equal to PyTorch's on the CPU, gradients and packed sequences included."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.testing import assert_close

pytestmark = pytest.mark.platforms("npu")


def twins(*sizes: int) -> tuple[Tensor, Tensor]:
    """Returns equal leaves on the CPU and on the NPU."""
    host = torch.randn(*sizes, requires_grad=True)
    return host, host.detach().npu().requires_grad_()


def assert_equal(pairs, expected, result, arrange=lambda x: x):
    """Checks a result, and the gradients of what it is computed from, which may lie in another order."""
    assert_close(result.detach().cpu(), expected.detach())
    expected.pow(3).sum().backward()
    result.pow(3).sum().backward()
    for host, device in pairs:
        assert_close(device.grad.cpu(), arrange(host.grad), atol=1e-3, rtol=1e-3)


def test_writing_into_an_output_that_must_grow():
    out = torch.empty(0, device="npu")
    torch.add(torch.ones(2, device="npu"), torch.ones(3, 1, device="npu"), out=out)
    assert out.tolist() == [[2, 2]] * 3


def test_a_view_that_an_operator_returns_shares_memory():
    values = torch.zeros(4, device="npu")
    halves = values.chunk(2)
    halves[0].fill_(1)
    assert values.tolist() == [1, 1, 0, 0]


LOSSES = [
    *(("l1_loss", reduction) for reduction in ("mean", "sum", "none")),
    *(("binary_cross_entropy_with_logits", reduction) for reduction in ("mean", "sum", "none")),
    *(("kl_div", reduction) for reduction in ("batchmean", "sum", "none")),
]


@pytest.mark.parametrize(("name", "reduction"), LOSSES)
def test_losses_with_kernels_of_their_own(name, reduction):
    (host, device), goals = twins(6), torch.rand(6)
    loss = getattr(functional, name)
    expected = loss(host, goals, reduction=reduction)
    result = loss(device, goals.npu(), reduction=reduction)
    assert_equal([(host, device)], expected, result)


def test_rms_norm():
    import torch_npu

    (host, device), (scale, device_scale) = twins(3, 5, 8), twins(8)
    expected = functional.rms_norm(host, (8,), scale, 1e-6)
    result = torch_npu.npu_rms_norm(device, device_scale, 1e-6)[0]
    assert_equal([(host, device), (scale, device_scale)], expected, result)


LAYOUTS = {
    "BNSD": lambda x: x,
    "BSND": lambda x: x.transpose(1, 2),
    "BSH": lambda x: x.transpose(1, 2).flatten(2),
    "SBH": lambda x: x.transpose(1, 2).flatten(2).transpose(0, 1),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_fused_attention(layout):
    import torch_npu

    arrange = LAYOUTS[layout]
    host = [torch.randn(2, 4, 6, 8, requires_grad=True) for _ in range(3)]
    device = [arrange(tensor).detach().npu().requires_grad_() for tensor in host]
    mask = torch.ones(6, 6, dtype=torch.bool).triu(1).npu()
    expected = arrange(functional.scaled_dot_product_attention(*host, is_causal=True))
    result = torch_npu.npu_fusion_attention(*device, 4, layout, atten_mask=mask, scale=8**-0.5)[0]
    assert_equal(zip(host, device, strict=True), expected, result, arrange)


def test_fused_attention_of_packed_sequences():
    import torch_npu

    pairs = [twins(9, 4, 8) for _ in range(3)]
    host, device = zip(*pairs, strict=True)
    later = torch.ones(2048, 2048, dtype=torch.bool).triu(1).npu()
    ends = {"actual_seq_qlen": [3, 9], "actual_seq_kvlen": [3, 9], "sparse_mode": 3, "atten_mask": later}
    result = torch_npu.npu_fusion_attention(*device, 4, "TND", scale=8**-0.5, **ends)
    parts = []
    for rows in (slice(0, 3), slice(3, 9)):
        inputs = (tensor[rows].transpose(0, 1) for tensor in host)
        parts.append(functional.scaled_dot_product_attention(*inputs, is_causal=True).transpose(0, 1))
    expected = torch.cat(parts)
    assert result[1].shape == result[2].shape == (9, 4, 8)
    assert_equal(pairs, expected, result[0])


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"attn_mask": torch.ones(6, 6).tril() > 0}])
def test_scaled_dot_product_attention(options):
    pairs = [twins(2, 4, 6, 8) for _ in range(3)]
    on_device = {name: value.npu() if isinstance(value, Tensor) else value for name, value in options.items()}
    expected = functional.scaled_dot_product_attention(*(host for host, _ in pairs), **options)
    result = functional.scaled_dot_product_attention(*(device for _, device in pairs), **on_device)
    assert_equal(pairs, expected, result)


def test_dropout_in_attention_is_reproducible():
    ones = torch.ones(1, 2, 64, 8).npu()
    results = []
    for _ in range(2):
        torch.npu.manual_seed(1)
        results.append(functional.scaled_dot_product_attention(ones, ones, ones, dropout_p=0.5))
    assert torch.equal(*results)
    assert 0.8 < results[0].mean().item() < 1.2
    assert results[0].std().item() > 0.01


@pytest.mark.parametrize("lengths", [[5, 5], [5, 2], [1, 4]])
def test_packed_sequences_through_an_lstm(lengths):
    network, inputs = nn.LSTM(4, 8, 2, batch_first=True, bidirectional=True), torch.randn(2, 5, 4)
    results = []
    for device in ("cpu", "npu"):
        packed = pack_padded_sequence(inputs.to(device), lengths, batch_first=True, enforce_sorted=False)
        output, (hidden, cell) = network.to(device)(packed)
        padded, counted = pad_packed_sequence(output, batch_first=True)
        assert (packed.data.device.type, packed.batch_sizes.device.type) == (device, "cpu")
        assert (padded.device.type, counted.tolist()) == (device, lengths)
        results.append([each.detach().cpu() for each in (padded, hidden, cell)])
    assert_close(*results, atol=1e-4, rtol=1e-4)

"""Packed sequences through a recurrent network, for which torch_npu has its own format."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.testing import assert_close

pytestmark = pytest.mark.platforms("npu")


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

"""What a program sees of its device: CUDA's words, and the vendor's where it names these."""

from __future__ import annotations

import pytest
import torch

from tests.device.uses import USES


@pytest.mark.parametrize("name", USES)
def test_a_use_is_as_on_cuda(name: str) -> None:
    tensor = torch.ones(2, device="cuda:0")
    assert USES[name](tensor.device, tensor) is True

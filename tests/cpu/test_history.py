"""Snapshots of the process's memory."""

from __future__ import annotations

import pytest
import torch

pytestmark = pytest.mark.platforms("cpu")


def test_a_snapshot_tells_of_all_memory() -> None:
    held = torch.empty(1 << 20, device="cuda")
    assert sum(segment["allocated_size"] for segment in torch.cuda.memory_snapshot()) >= held.nbytes

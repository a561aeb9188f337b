"""Snapshots of the process's memory."""

from __future__ import annotations

import pathlib
import pickle

import pytest
import torch

pytestmark = pytest.mark.platforms("cpu")


def test_the_history_of_memory_is_recorded(tmp_path: pathlib.Path) -> None:
    memory = torch.cuda.memory
    memory._record_memory_history(max_entries=100_000)
    try:
        held, passing = torch.empty(1 << 20, device="cuda"), torch.empty(1 << 16, device="cuda")
        address = passing.data_ptr()
        del passing
        memory._dump_snapshot(str(tmp_path / "snapshot.pickle"))
        snapshot = pickle.loads((tmp_path / "snapshot.pickle").read_bytes())
    finally:
        memory._record_memory_history(enabled=None)
    events = [event["action"] for event in snapshot["device_traces"][0] if event["addr"] == address]
    assert events == ["alloc", "free_requested", "free_completed"]
    blocks = {block["address"]: block for segment in snapshot["segments"] for block in segment["blocks"]}
    assert blocks[held.data_ptr()]["size"] >= 4 << 20
    assert address not in blocks
    assert "<html" in torch.cuda._memory_viz.trace_plot(snapshot)


def test_a_snapshot_tells_of_all_memory() -> None:
    held = torch.empty(1 << 20, device="cuda")
    assert sum(segment["allocated_size"] for segment in torch.cuda.memory_snapshot()) >= held.nbytes


def test_history_takes_the_form_of_old_programs() -> None:
    torch.cuda.memory._record_memory_history(True, trace_alloc_max_entries=2, trace_alloc_record_context=True)
    tensors = [torch.empty(100, device="cuda") for _ in range(5)]
    assert len(torch.cuda.memory._snapshot()["device_traces"][0]) == 2
    torch.cuda.memory._record_memory_history(False)
    assert torch.cuda.memory._snapshot()["device_traces"] == [[]]
    assert len(tensors) == 5
    with pytest.raises(RuntimeError, match="'state', 'all', or None"):
        torch.cuda.memory._record_memory_history("everything")

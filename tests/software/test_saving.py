"""Saving, loading, copying, pickling and printing a tensor preserves its device."""

from __future__ import annotations

import copy
import io
import pathlib
import pickle

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from tests.software import own

pytestmark = pytest.mark.usefixtures("vendor_worker")


def test_saved_tensors_come_back_to_their_device(tmp_path: pathlib.Path) -> None:
    model = torch.nn.Linear(2, 3).to(own.device(1))
    other = torch.ones(2, device=own.device())
    torch.save({"model": model.state_dict(), "other": other}, tmp_path / "saved.pt")
    loaded = torch.load(tmp_path / "saved.pt")
    assert str(loaded["model"]["weight"].device) == own.device(1)
    assert str(loaded["other"].device) == own.device(0)
    torch.testing.assert_close(loaded["model"]["weight"], model.weight.detach())
    assert torch.load(tmp_path / "saved.pt", map_location="cpu")["other"].device.type == "cpu"
    moved = torch.load(tmp_path / "saved.pt", map_location={own.device(1): own.device(0)})
    assert moved["model"]["weight"].device.index == 0


def test_files_name_the_device() -> None:
    buffer = io.BytesIO()
    torch.save(torch.ones(2, device=own.device(1)), buffer)
    assert own.device(1).encode() in buffer.getvalue()
    storage = torch.ones(1, device=own.device()).untyped_storage()
    assert torch.serialization.location_tag(storage) == own.device(0)


def test_tensors_on_missing_devices_are_refused(tmp_path: pathlib.Path) -> None:
    torch.save(torch.ones(2), tmp_path / "saved.pt")
    with pytest.raises(RuntimeError, match=f"{own.device()}.device_count\\(\\) is 2"):
        torch.load(tmp_path / "saved.pt", map_location=own.device(5), weights_only=False)


def test_copies_and_pickles_stay_on_the_device() -> None:
    parameter = torch.nn.Parameter(torch.ones(3, device=own.device()))
    for twin in (copy.deepcopy(parameter), pickle.loads(pickle.dumps(parameter))):
        assert isinstance(twin, torch.nn.Parameter)
        assert twin.device == parameter.device
        assert twin.data_ptr() != parameter.data_ptr()
        assert torch.equal(twin, parameter)


def test_printed_tensors_show_the_device() -> None:
    assert str(torch.arange(3, device=own.device())) == f"tensor([0, 1, 2], device='{own.device(0)}')"
    assert f"device='{own.device(1)}'" in repr(torch.ones(2, device=own.device(1), requires_grad=True))


def test_host_libraries_need_a_copy() -> None:
    with pytest.raises(TypeError, match=f"can't convert {own.device(0)} device type tensor to numpy"):
        torch.ones(2, device=own.device()).numpy()
    assert torch.ones(2, device=own.device()).tolist() == [1, 1]


@pytest.mark.parametrize("workers", [0, 1])
def test_loaders_pin_their_batches(workers: int) -> None:
    loader = DataLoader(TensorDataset(torch.arange(8.0)), batch_size=4, pin_memory=True, num_workers=workers)
    batches = [batch for (batch,) in loader]
    assert all(batch.is_pinned() for batch in batches)
    assert torch.cat([batch.to(own.device(), non_blocking=True) for batch in batches]).sum().item() == 28


def test_profiler_sees_the_operators() -> None:
    x = torch.ones(4, 4, device=own.device())
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        (x @ x).sum()
    assert "aten::mm" in {event.key for event in profile.key_averages()}

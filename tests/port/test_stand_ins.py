"""The helpers copied into ported modules select the requested device."""

from __future__ import annotations

import pytest
import torch

from morph.source.port import stand_ins


@pytest.fixture
def accelerator(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """An accelerator of another name; returns the list of the indices that are made current."""
    current: list[int | None] = []
    monkeypatch.setattr(stand_ins, "default_device", torch.device("xpu"))
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "device_index", current.append)
    return current


def test_an_index_is_a_device_of_the_accelerator(accelerator: list[int | None]) -> None:
    assert stand_ins.device_at(None) == torch.device("xpu")
    assert [stand_ins.device_at(index) for index in (0, 1, "2", "cpu")] == [
        *(torch.device("xpu:0"), torch.device("xpu:1"), torch.device("xpu:2"), torch.device("cpu"))
    ]
    stand_ins.on_device(1)
    stand_ins.on_device("xpu:2")
    stand_ins.on_device(torch.device("xpu:3"))
    assert accelerator == [1, 2, 3]
    for nothing in (None, -1):
        with stand_ins.on_device(nothing):
            assert len(accelerator) == 3


def test_without_an_accelerator_every_index_is_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stand_ins, "default_device", torch.device("cpu"))
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    assert stand_ins.device_at(3) == torch.device("cpu")
    with stand_ins.on_device(3):
        pass

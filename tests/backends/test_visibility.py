"""What the values of `CUDA_VISIBLE_DEVICES` do, without a process for each."""

from __future__ import annotations

import os

import pytest

from morph.backends import visibility
from morph.journal import Journal
from morph.tables import table


@pytest.mark.parametrize(
    ("mask", "hides"),
    [("", True), ("-1", True), ("0", False), ("1,0", False), ("GPU-8932f937", False), (None, False)],
)
def test_what_hides_every_device(monkeypatch: pytest.MonkeyPatch, mask: str | None, hides: bool) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if mask is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", mask)
    assert visibility.hides_all() == hides


@pytest.mark.parametrize(("mask", "carried"), [("1", True), ("0, 1", True), ("GPU-8932f937", False)])
def test_a_mask_is_carried_or_said_to_mean_nothing(
    monkeypatch: pytest.MonkeyPatch, mask: str, carried: bool
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", mask)
    monkeypatch.delenv("ASCEND_RT_VISIBLE_DEVICES", raising=False)
    journal, said = Journal(), []
    visibility.carry(table.load("npu").facts, journal, said.append)
    assert os.environ.get("ASCEND_RT_VISIBLE_DEVICES") == (mask if carried else None)
    ignored = f"CUDA_VISIBLE_DEVICES={mask} names no Huawei Ascend devices and is ignored; "
    assert said == ([] if carried else [f"{ignored}set ASCEND_RT_VISIBLE_DEVICES"])
    journal.undo()
    assert "ASCEND_RT_VISIBLE_DEVICES" not in os.environ

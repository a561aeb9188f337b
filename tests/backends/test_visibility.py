"""Which values of CUDA's mask hide every device, without a process for each."""

from __future__ import annotations

import pytest

from morph.backends import visibility


@pytest.mark.parametrize(
    ("mask", "hides"),
    [("", True), ("-1", True), ("0", False), ("1,0", False), ("GPU-8932f937", False), (None, False)],
)
def test_what_hides_every_device(monkeypatch: pytest.MonkeyPatch, mask: str | None, hides: bool) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if mask is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", mask)
    assert visibility.hides_all() == hides

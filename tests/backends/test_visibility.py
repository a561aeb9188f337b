"""What the values of `CUDA_VISIBLE_DEVICES` do, without a process for each."""

import pytest

from morph.backends import visibility
from morph.backends.tables import table


@pytest.mark.parametrize(
    ("mask", "hides"),
    [("", True), ("-1", True), ("0", False), ("1,0", False), ("GPU-8932f937", False), (None, False)],
)
def test_what_hides_every_device(monkeypatch: pytest.MonkeyPatch, mask: str | None, hides: bool) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if mask is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", mask)
    assert visibility.hides_all() == hides


@pytest.mark.parametrize(
    ("mask", "value"),
    [
        ("1", "1"),
        ("0, 1", "0,1"),
        ("0,-1,1", "0"),  # as CUDA's driver reads it: what follows the first that is no device is not seen
        ("0,0", "-1"),  # nor is any, if one is named twice
        ("", "-1"),
        ("-1", "-1"),
    ],
)
def test_a_mask_is_the_vendors(mask: str, value: str) -> None:
    assert visibility.in_vendors_words(table.load("npu").facts, mask) == (value, "")


def test_a_name_of_nvidias_is_said_to_mean_nothing() -> None:
    said = "CUDA_VISIBLE_DEVICES=GPU-8932f937 names no Huawei Ascend devices and is ignored; "
    facts = table.load("npu").facts
    assert visibility.in_vendors_words(facts, "GPU-8932f937") == (
        "",
        f"{said}set ASCEND_RT_VISIBLE_DEVICES",
    )


@pytest.mark.parametrize(("name", "value"), [("npu", "0,1"), ("xpu", "0,1"), ("mlu", "1,0"), ("musa", "1,0")])
def test_an_order_that_the_vendor_does_not_have_is_said(name: str, value: str) -> None:
    facts = table.load(name).facts
    said = f"{facts.title} numbers its devices in the machine's order: CUDA_VISIBLE_DEVICES=0,1"
    assert visibility.in_vendors_words(facts, "1,0") == (value, said if value == "0,1" else "")

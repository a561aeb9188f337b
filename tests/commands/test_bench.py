"""What ``morph bench`` shows of its timings, which are given here."""

from __future__ import annotations

import pytest

from morph.running.commands import bench
from morph.verification.measurement import Figure
from morph.verification.measurement.timing import summarised
from tests.commands import screens

STEADY = Figure("torch.cuda.is_available()", 212.4, 200.1, (1.05, 1.08))
UNSTEADY = Figure("torch.device('cuda')", 512.0, 200.0, (0.98, 4.13))
FAILED = Figure("there.to(torch.float32)", error="no such device")


def shown(figures: list[Figure], capsys: pytest.CaptureFixture[str]) -> str:
    bench._print(figures, "npu")
    return "".join(f"{line.rstrip()}\n" for line in capsys.readouterr().out.splitlines())


def test_quartiles_of_the_ratios_of_rounds() -> None:
    measured = summarised("a call", [2e-9, 4e-9, 9e-9, 8e-9, 10e-9], [1e-9, 2e-9, 3e-9, 2e-9, 2e-9])
    assert (measured.cuda, measured.own) == pytest.approx((8, 2))
    assert measured.quartiles == pytest.approx((2, 4))
    assert summarised("a call", [6e-9], [2e-9]).quartiles == pytest.approx((3, 3))


def test_a_machine_that_is_busy(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown([STEADY, UNSTEADY, FAILED], capsys) == screens.recorded("bench")


def test_a_machine_that_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert "spread widely" not in shown([STEADY, FAILED], capsys)

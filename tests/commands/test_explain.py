"""``morph explain`` tells what the tables say."""

from __future__ import annotations

import json

import pytest

from morph import commands


def test_every_backend_is_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.run(["explain", "torch.cuda.CUDAGraph", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [*told] == ["npu", "mlu", "musa", "xpu", "rocm", "cpu"]
    assert told["npu"] == {"status": "renamed", "target": "torch.npu.NPUGraph", "adapter": "", "note": ""}
    assert told["cpu"]["status"] == "emulated"


def test_one_backend_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.run(["explain", "torch.cuda.gds", "--backend", "npu"]) == 0
    name, _, row = capsys.readouterr().out.splitlines()
    assert name == "torch.cuda.gds"
    assert row.split()[:2] == ["npu", "missing"]
    assert "read into pinned memory and copy" in row


def test_a_name_that_no_row_has(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.run(["explain", "torch.cuda.memory_allocated", "--backend", "xpu", "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out).values()
    assert (row["status"], row["target"]) == ("same", "torch.xpu.memory_allocated")


def test_an_unknown_name_has_close_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.run(["explain", "torch.cuda.memory_alocated"]) == 2
    assert "there is no torch.cuda.memory_alocated; did you mean torch.cuda.memory_allocated or" in (
        capsys.readouterr().err
    )


def test_an_unknown_backend(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.run(["explain", "torch.cuda.Stream", "--backend", "tpu"]) == 2
    assert "tpu" in capsys.readouterr().err

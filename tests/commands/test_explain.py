"""``morph explain`` prints what the tables say."""

import json
import sys

import pytest

from morph.backends.tables import table
from morph.running import commands
from tests.platforms import complete


def test_every_backend_is_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.run(["explain", "torch.cuda.CUDAGraph", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [*told] == table.backend_names()
    assert told["npu"] == {
        "status": "renamed",
        "target": "torch.npu.NPUGraph",
        "adapter": "",
        "note": "",
        "evidence": "vendor wheel",
    }
    assert told["cpu"]["status"] == "same"


def test_one_backend_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.run(["explain", "torch.cuda.gds", "--backend", "npu"]) == 0
    name, _, row = capsys.readouterr().out.splitlines()
    assert name == "torch.cuda.gds"
    assert row.split()[:2] == ["npu", "missing"]
    assert "read into pinned memory and copy" in row
    assert commands.run(["explain", "torch.cuda.CUDAGraph", "--backend", "npu"]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert last.strip().split(maxsplit=2) == [
        ".raw_cuda_graph_exec",
        "missing",
        "the graph is not a cudaGraphExec_t",
    ]


def test_a_name_that_no_row_has(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.run(["explain", "torch.cuda.memory_allocated", "--backend", "xpu", "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out).values()
    assert (row["status"], row["target"]) == ("same", "torch.xpu.memory_allocated")


def test_an_unknown_name_has_close_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.run(["explain", "torch.cuda.memory_alocated"]) == 2
    assert "there is no torch.cuda.memory_alocated; did you mean torch.cuda.memory_allocated or" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("end", "full"),
    [
        ("CUDAGraph", "torch.cuda.CUDAGraph"),
        ("graphs.CUDAGraph", "torch.cuda.graphs.CUDAGraph"),
        ("cuda.is_available", "torch.cuda.is_available"),
        ("FusedAdam", "apex.optimizers.FusedAdam"),
        ("nvmlInit", "pynvml.nvmlInit"),
    ],
)
def test_the_end_of_a_name(end: str, full: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.run(["explain", full, "--json"]) == 0
    told = capsys.readouterr().out
    assert commands.run(["explain", end, "--json"]) == 0
    assert capsys.readouterr().out == told
    assert commands.run(["explain", end]) == 0
    assert capsys.readouterr().out.startswith(f"{full}\n")


def test_longer_names_with_the_same_end_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.run(["explain", "CUDAGraph"]) == 0
    assert capsys.readouterr().out.endswith("\nother names that end so: torch.cuda.graphs.CUDAGraph\n")
    assert commands.run(["explain", "flash_attn_func"]) == 2
    assert capsys.readouterr().err == (
        "morph: flash_attn_func is the end of several names; give one of flash_attn.flash_attn_func, "
        "flash_attn_interface.flash_attn_func\n"
    )
    assert commands.run(["explain", "UDAGraph"]) == 2  # the end of a word is not the end of a name
    assert capsys.readouterr().err.startswith("morph: there is no UDAGraph")


def test_neither_torch_nor_a_vendor_is_imported() -> None:
    """Explaining imports neither, with and without a row, for morph's classes and for the vendors'."""
    asked = """
import sys
sys.modules |= dict.fromkeys(["torch", "torch_npu", "torch_mlu", "torch_musa"])
from morph.running import commands
from morph.backends.tables import table
names = "is_initialized", "Stream.priority", "amp.GradScaler.scale", "streams.Stream.cuda_stream", "gds"
for name in names:
    assert commands.run(["explain", f"torch.cuda.{name}", "--json"]) == 0
"""
    done = complete([sys.executable, "-c", asked])
    assert (done.returncode, done.stderr) == (0, "")
    initialised, priority, scale, handle, _ = _documents(done.stdout)
    assert initialised["cpu"]["target"] == "torch.cuda"
    assert (priority["cpu"]["status"], scale["mlu"]["status"]) == ("same", "emulated")
    assert handle["npu"]["target"] == "torch.npu.Stream.npu_stream"


def _documents(text: str) -> list[dict[str, dict[str, str]]]:
    """Returns the JSON documents in a text, one after the other."""
    found, decoder = [], json.JSONDecoder()
    while text.strip():
        document, end = decoder.raw_decode(text.lstrip())
        found.append(document)
        text = text.lstrip()[end:]
    return found


def test_a_name_of_a_served_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.run(["explain", "apex.optimizers.FusedAdam", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out).values()
    assert row["status"] == "emulated"
    assert row["evidence"].startswith("hardware (cpu), vendor wheel (npu), simulated (mlu, musa, xpu)")
    assert commands.run(["explain", "pynvml.nvmlDeviceGetPowrUsage"]) == 2
    assert "did you mean pynvml.nvmlDeviceGetPowerUsage" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "full", "note"),
    [
        ("torch.Tensor.cuda", "torch.Tensor.cuda", 'another name of the device type "npu", below Python'),
        ("Tensor.is_cuda", "torch.Tensor.is_cuda", 'another name of the device type "npu"'),
        ("nn.Module.cuda", "torch.nn.Module.cuda", 'another name of the device type "npu"'),
        ("torch.device", "torch.device", 'another name of the device type "npu"'),
        ("init_process_group", "torch.distributed.init_process_group", 'backend is read as "hccl"'),
        ("torch.autocast", "torch.autocast", '"cuda" for device_type is read as "npu"'),
    ],
)
def test_names_outside_torch_cuda(
    name: str, full: str, note: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.run(["explain", name, "--backend", "npu"]) == 0
    first, _, *rest = capsys.readouterr().out.splitlines()
    assert first == full
    assert note in " ".join(rest)

"""Several processes on torch_tpu, each with a device: its number, collectives, and what starts them."""

import pathlib
import subprocess
import sys
from typing import Any

import pytest

from tests.platforms import REPOSITORY, Platform, complete, describe

pytestmark = pytest.mark.long

PROGRAMS = pathlib.Path(__file__).parent / "processes"
LAUNCHER = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
GLOO = "morph: this PJRT plug-in is not libtpu: collectives run on the host, by gloo"


def launched(tpu: Platform, *program: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a program in processes that torch's launcher starts."""
    done = complete([*tpu.command(morph=True), *LAUNCHER, "2", *map(str, program)], **options)
    assert done.returncode == 0, describe(done)
    return done


def test_collectives_of_two_processes(tpu: Platform) -> None:
    assert GLOO in launched(tpu, PROGRAMS / "collectives.py", env=tpu.environment).stderr


def test_training_in_two_processes_has_plain_torchs_losses(tpu: Platform) -> None:
    found = launched(tpu, PROGRAMS / "training.py", "cuda", env=tpu.environment).stdout.split()
    command = [sys.executable, *LAUNCHER, "2", str(PROGRAMS / "training.py"), "cpu"]
    plain = complete(command, cwd=REPOSITORY)
    assert len(found) == 12, describe(plain)
    assert [*map(float, found)] == pytest.approx([*map(float, plain.stdout.split())], rel=1e-3)


def test_spawned_processes_have_a_device_each(tpu: Platform, tmp_path: pathlib.Path) -> None:
    assert tpu.run(PROGRAMS / "spawned.py", tmp_path / "store").stdout == "done\n"


CHOSEN = """
import os, torch, torch.distributed as dist

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
assert os.environ["TORCH_TPU_TOPOLOGY"] == "1,1,1" and os.environ["TORCH_TPU_SLICEBUILDER_ADDRESSES"]
dist.init_process_group("nccl")
x = torch.ones(3, device="cuda")
dist.all_reduce(x)
print(x.sum().item())
"""


def test_torchs_launcher_has_torch_tpu_choose_its_addresses(tpu: Platform, tmp_path: pathlib.Path) -> None:
    """With torch_tpu's own collectives, which over XLA for the CPU reach one process."""
    plugin, program = tmp_path / "libtpu.so", tmp_path / "program.py"
    plugin.symlink_to(tpu.environment["TPU_LIBRARY_PATH"])
    program.write_text(CHOSEN, encoding="utf-8")
    variables = {**tpu.environment, "TPU_LIBRARY_PATH": str(plugin)}
    done = complete([*tpu.command(morph=True), *LAUNCHER, "1", str(program)], env=variables)
    assert done.stdout == "3.0\n", describe(done)
    refused = complete([*tpu.command(morph=True), *LAUNCHER, "3", str(program)], env=variables)
    assert refused.returncode != 0
    assert "No TPU topology found" in refused.stderr, describe(refused)


HELPERS = """
import torch.multiprocessing as mp

def work(rank):
    assert rank < 3

if __name__ == "__main__":
    mp.spawn(work, nprocs=3)
    print("done")
"""


def test_helpers_may_be_more_than_a_slice_has_tpus_for(tpu: Platform, tmp_path: pathlib.Path) -> None:
    plugin, program = tmp_path / "libtpu.so", tmp_path / "program.py"
    plugin.symlink_to(tpu.environment["TPU_LIBRARY_PATH"])
    program.write_text(HELPERS, encoding="utf-8")
    assert tpu.run(program, environment={"TPU_LIBRARY_PATH": str(plugin)}).stdout == "done\n"

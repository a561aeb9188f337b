"""Several processes: tensors passed between processes, and the limits of a fork."""

import pathlib

import pytest

from tests import origin, platforms
from tests.platforms import Platform, describe

SHARING = """
import torch
import torch.multiprocessing as multiprocessing

def child(tensors, done):
    tensor = tensors.get()
    tensor[1:].add_(1)
    print("child", tensor.tolist(), tensor.device, flush=True)
    del tensor
    done.set()

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    tensors, done = context.Queue(), context.Event()
    process = context.Process(target=child, args=(tensors, done))
    process.start()
    tensor = torch.zeros(4, device="npu:1")
    tensors.put(tensor[1:])
    done.wait(60)
    print("parent", tensor.tolist(), flush=True)
    process.join()
"""

FORKING = """
import multiprocessing
import torch

device, vendor = torch.accelerator.current_accelerator().type, torch.get_device_module()

def child():
    try:
        torch.ones(1, device=device)
    except RuntimeError as error:
        print(error, flush=True)
    print(vendor._is_in_bad_fork(), vendor.is_initialized(), flush=True)

print(vendor.is_initialized(), flush=True)
torch.ones(1, device=device)
print(vendor.is_initialized(), flush=True)
process = multiprocessing.get_context("fork").Process(target=child)
process.start()
process.join()
"""


@pytest.mark.parametrize("machine", ["simulated-npu"], indirect=True)
def test_tensors_are_handed_over_without_a_copy(machine: Platform, tmp_path: pathlib.Path) -> None:
    script = tmp_path / "sharing.py"
    script.write_text(SHARING)
    done = machine.run(script, morph=False)
    assert "child [0.0, 1.0, 1.0] npu:1" in done.stdout, describe(done)
    assert "parent [0.0, 0.0, 1.0, 1.0]" in done.stdout


def test_a_fork_of_a_process_with_a_device_has_none(machine: Platform) -> None:
    before, after, message, *_, state = origin.run(machine, FORKING).stdout.splitlines()
    assert (before, after) == ("False", "True")
    title = machine.device_type.upper()
    assert message.startswith(f"Cannot re-initialize {title} in forked subprocess")
    assert state == "True False"


# on the real package torch's threads can outlive the interpreter, which aborts one process in fifty
@pytest.mark.parametrize("machine", ["simulated-npu"], indirect=True)
def test_a_process_that_ends_right_after_a_backward_pass_ends_well(machine: Platform) -> None:
    program = "import torch; torch.ones(2, device='npu', requires_grad=True).sum().backward()"
    done = origin.run(machine, program)
    assert "terminate" not in done.stderr


CHOOSING = FORKING.replace("torch.ones(1, device=device)\nprint", "vendor.set_device(0)\nprint")


def test_choosing_a_cuda_device_is_a_use_of_it(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "choosing.py"
    script.write_text(CHOOSING)
    done = platforms.platform("cpu", {}).run(script)
    before, after, message, *_ = done.stdout.splitlines()
    assert (before, after) == ("False", "True")
    assert message.startswith("Cannot re-initialize CUDA in forked subprocess")

"""Devices that the process has not used yet, each call in a process where only device 0 was used, or none."""

import pytest

from tests import origin
from tests.platforms import Platform

CALLS = """
torch.cuda.current_stream("cuda:1")
torch.cuda.current_stream(1)
torch.cuda.default_stream("cuda:1")
torch.cuda.default_stream(1)
torch.cuda.Stream("cuda:1")
torch.cuda.stream(torch.cuda.Stream(1)).__enter__()
torch.cuda.synchronize(1)
torch.cuda.memory_allocated(1)
torch.cuda.mem_get_info(1)
torch.cuda.get_rng_state("cuda:1")
torch.cuda.caching_allocator_alloc(8, 1)
torch.cuda.Event().record(torch.cuda.current_stream(1))
torch.ones(2, device="cuda:0").record_stream(torch.cuda.current_stream(1))
torch.cuda.current_stream(0).wait_stream(torch.cuda.current_stream(1))
torch._C._cuda_getCurrentStream(1)
torch._C._cuda_getCurrentRawStream(1)
torch.accelerator.current_stream(1)
torch.Generator("cuda:1").manual_seed(1)
"""
PROGRAM = """
import os, torch

def outcome(first, call):
    child = os.fork()  # so that no other call has used the device
    if child == 0:
        exec(first)
        eval(call)
        assert torch.cuda.current_device() in (0, 1)
        os._exit(0)
    return os.waitpid(child, 0)[1]

calls = CALLS
failed = [(first, call) for call in calls for first in ("", "torch.cuda.init()") if outcome(first, call)]
assert not failed, failed
print(2 * len(calls), "calls")
"""


@pytest.fixture(autouse=True)
def everywhere() -> None:
    """Keeps the test out of the worker, which has used its devices."""


@pytest.mark.platforms("cpu", "npu", "simulated-npu", "simulated-mlu", "simulated-musa", "simulated-xpu")
@pytest.mark.long_on("simulated-mlu", "simulated-musa", "simulated-xpu")
def test_a_device_can_be_asked_for_before_its_first_use(platform: Platform) -> None:
    calls = CALLS.strip().splitlines()
    if platform.backend == "xpu":
        calls = [call for call in calls if "default_stream" not in call]
    done = origin.run(platform, PROGRAM.replace("CALLS", repr(calls)), morph=True)
    assert done.stdout == f"{2 * len(calls)} calls\n"


def test_an_array_of_cudas_shares_its_memory_with_a_tensor(platform: Platform) -> None:
    """On a vendor too, where torch makes it a CUDA tensor that no operator takes."""
    assert origin.run(platform, ARRAYS, morph=True).stdout == "shared\n"


ARRAYS = """
import torch

values = torch.arange(6.0, device="cuda")

class Array:
    def __init__(self, tensor):
        self.__cuda_array_interface__ = tensor.__cuda_array_interface__

for place in ("cuda", "cuda:0"):
    shared = torch.as_tensor(Array(values), device=place)
    shared[0] += 7
    assert (shared.device, shared.data_ptr()) == (values.device, values.data_ptr())
assert values.tolist() == [14, 1, 2, 3, 4, 5]
assert torch.asarray(Array(values), device="cuda").data_ptr() == values.data_ptr()
every_other = torch.as_tensor(Array(values[1::2]), device="cuda")
assert every_other.stride() == (2,) and (every_other + 1).tolist() == [2, 4, 6]
copied = torch.tensor(Array(values), device="cuda")
assert copied.data_ptr() != values.data_ptr() and copied.tolist() == values.tolist()
assert torch.as_tensor(Array(values), device="cuda", dtype=torch.float16).tolist() == values.tolist()
assert torch.as_tensor(Array(values), device="cpu").tolist() == values.tolist()
assert torch.as_tensor(Array(values[:0]), device="cuda").numel() == 0
matrix = torch.as_tensor(Array(values.reshape(2, 3).t()), device="cuda")
assert matrix.tolist() == [[14, 3], [1, 4], [2, 5]] and (matrix @ matrix.t()).shape == (3, 3)
kept = Array(torch.ones(3, device="cuda") * 2)  # beyond the end of the program
print("shared")
"""

"""The CPU is one CUDA device."""

from __future__ import annotations

import psutil
import pytest
import torch

from morph.errors import MissingNameError
from tests.platforms import Platform

pytestmark = pytest.mark.platforms("cpu")


@pytest.mark.parametrize("device", [0, "cuda", "cuda:0", torch.device("cpu")])
def test_the_device_is_set_by_every_spelling(device: object) -> None:
    torch.cuda.set_device(device)
    assert torch.cuda.current_device() == 0


@pytest.mark.parametrize(
    "name", ["set_device", "synchronize", "device", "Stream", "memory_allocated", "utilization"]
)
def test_a_second_device_is_refused_as_cuda_refuses_it(name: str) -> None:
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        getattr(torch.cuda, name)(1)


def test_properties_of_a_second_device_are_refused_as_cuda_refuses_them() -> None:
    with pytest.raises(AssertionError, match="Invalid device id"):
        torch.cuda.get_device_properties(1)


def test_a_device_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="Expected a cuda device, but got: meta"):
        torch.cuda.set_device("meta")


def test_blocks_select_the_device() -> None:
    with torch.cuda.device(0), torch.cuda.device("cuda"), torch.cuda.device(None), torch.cuda.device(-1):
        assert torch.cuda.current_device() == 0
    with torch.cuda.device_of(torch.ones(1, device="cuda")) as selected:
        assert selected is None


def test_properties_are_those_of_the_host() -> None:
    properties = torch.cuda.get_device_properties("cuda")
    assert 0 < properties.total_memory <= psutil.virtual_memory().total
    assert properties.multi_processor_count == psutil.cpu_count(logical=False)
    assert properties.name == torch.cuda.get_device_name() == properties.gcnArchName
    assert (properties.major, properties.minor) == torch.cuda.get_device_capability(0)
    assert repr(properties).startswith("_CudaDeviceProperties(name='CPU: ")


def test_a_property_of_gpus_is_refused_by_name() -> None:
    properties = torch.cuda.get_device_properties(0)
    assert not hasattr(properties, "shared_memory_per_block")
    with pytest.raises(MissingNameError, match=r"get_device_properties\(\)\.memory_bus_width"):
        _ = properties.memory_bus_width


def test_the_capability_leads_to_bfloat16_and_not_to_float8() -> None:
    assert torch.cuda.is_bf16_supported()
    assert (8, 0) <= torch.cuda.get_device_capability() < (8, 9)


def test_a_device_is_not_its_own_peer() -> None:
    assert torch.cuda.can_device_access_peer(0, 0) is False


def test_what_is_put_off_until_cuda_is_there_happens_at_once() -> None:
    called: list[int] = []
    torch.cuda._lazy_call(lambda: called.append(1), seed=True)
    assert called == [1]
    assert torch.cuda.is_initialized()


def test_the_debug_mode_is_kept() -> None:
    torch.cuda.set_sync_debug_mode("warn")
    assert torch.cuda.get_sync_debug_mode() == 1
    torch.cuda.set_sync_debug_mode(0)
    with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
        torch.cuda.set_sync_debug_mode("loud")


@pytest.mark.parametrize("name", ["gds", "jiterator", "green_contexts", "tunable"])
def test_submodules_without_a_meaning_are_refused_by_name(name: str) -> None:
    with pytest.raises(MissingNameError, match=rf"torch\.cuda\.{name}.* does not exist on backend 'cpu'"):
        _ = getattr(torch.cuda, name).enable


def test_hidden_devices_are_not_there(platform: Platform) -> None:
    program = "import torch; print(torch.cuda.is_available(), torch.cuda.device_count())"
    hidden = platform.run(program, environment={"CUDA_VISIBLE_DEVICES": ""})
    assert hidden.stdout.split() == ["False", "0"]
    chosen = platform.run(program, environment={"CUDA_VISIBLE_DEVICES": "3"})
    assert chosen.stdout.split() == ["True", "1"]


def test_a_backward_starts_no_thread_that_plain_torch_does_not(platform: Platform) -> None:
    # A thread of autograd's that asks for the interpreter while it ends aborts the process.
    program = """
import psutil, torch
x = torch.ones(3, device={device!r}, requires_grad=True)
before = psutil.Process().num_threads()
x.sum().backward()
print(psutil.Process().num_threads() - before)
"""
    served = platform.run(program.format(device="cuda")).stdout
    assert served == platform.run(program.format(device="cpu"), morph=False).stdout == "0\n"


def test_a_process_may_fork_after_its_first_backward(platform: Platform) -> None:
    program = """
import os, torch
x = torch.ones(2, device="cuda", requires_grad=True)
x.sum().backward()
child = os.fork()
if child == 0:
    x.sum().backward()
    os._exit(x.grad.tolist() != [2.0, 2.0])
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert platform.run(program).stdout == "0\n"

"""Readings are no use of a device, as NVML's are none: a process can be forked after them."""

import pytest

from tests import origin
from tests.platforms import Platform

PROGRAM = """
import os, pynvml, torch

pynvml.nvmlInit()
first, second = map(pynvml.nvmlDeviceGetHandleByIndex, range(2))
read = 0  # NVML_P2P_CAPS_INDEX_READ is a tuple in nvidia-ml-py, by mistake
assert pynvml.nvmlDeviceGetCudaComputeCapability(first) == (8, 0)
assert pynvml.nvmlDeviceGetP2PStatus(first, second, read) == pynvml.NVML_P2P_STATUS_OK
assert pynvml.nvmlDeviceGetP2PStatus(first, first, read) == pynvml.NVML_P2P_STATUS_NOT_SUPPORTED
assert not torch.cuda.is_initialized()
child = os.fork()
if child == 0:
    os._exit(int(torch.ones(2, device="cuda").sum() != 2))
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.fixture(autouse=True)
def everywhere() -> None:
    """Keeps the tests of this file out of the worker, which has used a device."""


@pytest.mark.platforms("cpu")
@pytest.mark.parametrize("visible", ["0,1", "1"])
def test_capability_and_reach_are_read_without_use(platform: Platform, visible: str) -> None:
    origin.run(platform, PROGRAM, morph=True, environment={"CUDA_VISIBLE_DEVICES": visible})

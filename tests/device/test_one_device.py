"""The CPU is one CUDA device."""

from __future__ import annotations

import psutil
import pytest
import torch

pytestmark = pytest.mark.platforms("cpu")


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


def test_a_device_is_not_its_own_peer() -> None:
    assert torch.cuda.can_device_access_peer(0, 0) is False


def test_what_is_put_off_until_cuda_is_there_happens_at_once() -> None:
    called: list[int] = []
    torch.cuda._lazy_call(lambda: called.append(1), seed=True)
    assert called == [1]
    assert torch.cuda.is_initialized()

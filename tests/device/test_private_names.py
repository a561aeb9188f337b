"""Private `torch._C` functions for CUDA devices and streams that programs call."""

from __future__ import annotations

from typing import Any

import pytest
import torch

_C: Any = torch._C


def test_the_current_device_is_read_and_set() -> None:
    last = torch.cuda.device_count() - 1
    with torch.cuda.device(0):
        _C._cuda_setDevice(last)
        assert _C._cuda_getDevice() == torch.cuda.current_device() == last
        assert _C._cuda_exchangeDevice(0) == last
        assert _C._cuda_maybeExchangeDevice(-1) == -1
        assert torch.cuda.current_device() == 0


def test_the_current_stream_is_read_and_set() -> None:
    stream = torch.cuda.Stream()
    place = stream.stream_id, stream.device_index, stream.device_type
    with torch.cuda.stream(torch.cuda.current_stream()):
        _C._cuda_setStream(stream_id=place[0], device_index=place[1], device_type=place[2])
        assert torch.cuda.current_stream() == stream
        assert _C._cuda_getCurrentStream(0) == place
        assert _C._cuda_getCurrentRawStream(0) == stream.cuda_stream


@pytest.mark.platforms("cpu", "npu", "simulated-npu", "simulated-mlu", "simulated-musa")
def test_the_default_stream_has_its_place() -> None:
    stream = torch.cuda.default_stream()
    assert _C._cuda_getDefaultStream(0) == (stream.stream_id, stream.device_index, stream.device_type)


def test_the_device_is_waited_for_and_its_cache_emptied() -> None:
    torch.ones(1 << 20, device="cuda")
    _C._cuda_synchronize()
    _C._cuda_emptyCache()
    assert _C._cuda_memoryStats(0)["allocated_bytes"]["all"]["peak"] >= 4 << 20
    assert not _C._cuda_isInBadFork()

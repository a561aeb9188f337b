"""libcudart over the real torch_npu and the soft CANN."""

import ctypes
from ctypes import byref, c_char_p, c_float, c_int, c_void_p

import pytest
import torch

from tests.kernels.libraries.software.test_runtime import runtime

pytestmark = pytest.mark.platforms("npu")


@pytest.fixture(autouse=True)
def on_ascend(worker):
    """Runs the tests of this file on Ascend, under morph."""


def test_the_current_device_is_torchs():
    library, index, count = runtime(), c_int(), c_int()
    assert library.cudaGetDeviceCount(byref(count)) == 0
    assert count.value == torch.cuda.device_count() == 2
    with torch.cuda.device(1):
        assert library.cudaGetDevice(byref(index)) == 0
        assert index.value == 1


def test_streams_and_events():
    library, ms = runtime(), c_float(-1)
    stream, start, end = c_void_p(), c_void_p(), c_void_p()
    assert library.cudaStreamCreate(byref(stream)) == 0
    for event in (start, end):
        assert library.cudaEventCreate(byref(event)) == 0
        assert library.cudaEventRecord(event, stream) == 0
    assert library.cudaStreamSynchronize(stream) == library.cudaEventSynchronize(end) == 0
    assert library.cudaStreamQuery(stream) == library.cudaEventQuery(end) == 0
    assert library.cudaEventElapsedTime(byref(ms), start, end) == 0
    assert ms.value >= 0
    assert library.cudaEventDestroy(start) == library.cudaEventDestroy(end) == 0
    assert library.cudaStreamDestroy(stream) == 0


def test_the_vendors_errors_are_cudas():
    library = runtime()
    code = library.cudaSetDevice(77)
    assert code == library.cudaGetLastError() == 101
    assert b"aclrtSetDevice of libascendcl.so returned" in library.cudaGetErrorString(101)
    assert library.cudaGetErrorName(101) == b"cudaErrorInvalidDevice"
    assert library.cudaGetLastError() == 0


def test_what_has_no_counterpart_is_refused_by_name():
    library = runtime()
    assert library.cudaIpcGetMemHandle(None, None) == 801
    assert b"cudaIpcGetMemHandle of libcudart.so.12 is not served" in library.cudaGetErrorString(801)
    nccl = ctypes.CDLL("libnccl.so.2")
    nccl.ncclGetErrorString.restype = c_char_p
    assert nccl.ncclCommCount(None, None) == 5
    assert b"use torch.distributed" in nccl.ncclGetErrorString(5)
    assert ctypes.CDLL("libcuda.so.1").cuInit(0) == 801


def test_marks_and_readings_are_there_too():
    count = c_int()
    assert ctypes.CDLL("libnvToolsExt.so.1").nvtxRangePop() == -2
    assert ctypes.CDLL("libnvrtc.so.12").nvrtcCreateProgram(None, b"", None, 0, None, None) == 11
    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    assert nvml.nvmlInit_v2() == nvml.nvmlDeviceGetCount_v2(byref(count)) == 0
    assert count.value == 2

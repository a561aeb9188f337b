"""libnvidia-ml and libnvToolsExt on the software device, beside the served pynvml."""

import ctypes
from ctypes import byref, c_char_p, c_int, c_uint, c_ulonglong, c_void_p

import pytest
import torch

pytestmark = pytest.mark.platforms("cpu")


def nvml():
    library = ctypes.CDLL("libnvidia-ml.so.1")
    library.nvmlErrorString.restype = c_char_p
    assert library.nvmlInit_v2() == 0
    return library


def device(library, index=0):
    handle = c_void_p()
    assert library.nvmlDeviceGetHandleByIndex_v2(index, byref(handle)) == 0
    return handle


def test_devices_are_pynvmls():
    import pynvml

    library, value = nvml(), c_uint()
    pynvml.nvmlInit()
    assert library.nvmlDeviceGetCount_v2(byref(value)) == 0
    assert value.value == pynvml.nvmlDeviceGetCount() == torch.cuda.device_count()
    name = ctypes.create_string_buffer(96)
    for index in range(2):
        own = pynvml.nvmlDeviceGetHandleByIndex(index)
        assert library.nvmlDeviceGetName(device(library, index), name, 96) == 0
        assert name.value.decode() == pynvml.nvmlDeviceGetName(own)
        assert library.nvmlDeviceGetUUID(device(library, index), name, 96) == 0
        assert name.value.decode() == pynvml.nvmlDeviceGetUUID(own)
    assert library.nvmlDeviceGetUUID(device(library), name, 4) == 7
    assert library.nvmlDeviceGetHandleByIndex_v2(9, byref(c_void_p())) == 2
    assert library.nvmlShutdown() == 0


def test_readings():
    class Memory(ctypes.Structure):
        _fields_ = [("total", c_ulonglong), ("free", c_ulonglong), ("used", c_ulonglong)]

    library, memory, major, minor = nvml(), Memory(), c_int(), c_int()
    handle = device(library)
    assert library.nvmlDeviceGetMemoryInfo(handle, byref(memory)) == 0
    assert memory.total == torch.cuda.mem_get_info()[1] == memory.free + memory.used
    assert library.nvmlDeviceGetCudaComputeCapability(handle, byref(major), byref(minor)) == 0
    assert (major.value, minor.value) == torch.cuda.get_device_capability()
    count = c_uint(0)
    code = library.nvmlDeviceGetComputeRunningProcesses_v3(handle, byref(count), None)
    assert (code, count.value > 0) in {(7, True), (0, False)}


def test_what_is_not_known_is_refused_with_the_reason():
    library = nvml()
    assert library.nvmlDeviceGetBAR1MemoryInfo(device(library), None) == 3
    assert library.nvmlErrorString(3).startswith(b"Not Supported: nvmlDeviceGetBAR1MemoryInfo of ")
    assert library.nvmlDeviceGetPowerUsage(device(library), byref(c_uint())) in (0, 3)
    assert library.nvmlErrorString(0) == b"Success"


def test_marks_answer_as_without_a_profiler():
    library = ctypes.CDLL("libnvToolsExt.so.1")
    assert library.nvtxRangePushA(b"range") == library.nvtxRangePop() == -2
    assert library.nvtxMarkA(b"mark") == library.nvtxRangeStartA(b"range") == 0
    assert library.nvtxDomainCreateA(b"domain") == 0
    with pytest.raises(AttributeError, match="profilers"):
        library.nvtxGetExportTable  # noqa: B018

"""How programs find CUDA's libraries, and what is refused in them; libnvidia-ml and libnvToolsExt."""

import ctypes
import ctypes.util
import re
from ctypes import byref, c_char_p, c_int, c_uint, c_ulonglong, c_void_p

import pytest
import torch


def test_cdll_is_the_class_that_it_was():
    class Own(ctypes.CDLL):
        pass

    library = Own("libcudart.so.12")
    assert isinstance(library, ctypes.CDLL)
    assert isinstance(ctypes.cdll.LoadLibrary("libcudart.so.12"), ctypes.CDLL)
    assert library._name == "libcudart.so.12"
    assert ctypes.CDLL.__module__ == "ctypes"


@pytest.mark.parametrize(("name", "version"), [("11.0", 11080), ("11", 11080), ("12", 12090), ("13", 13000)])
def test_each_version_reports_itself(name, version):
    value = ctypes.c_int()
    assert ctypes.CDLL(f"libcudart.so.{name}").cudaRuntimeGetVersion(ctypes.byref(value)) == 0
    assert value.value == version
    assert ctypes.CDLL(f"libcudart.so.{name}").cudaDriverGetVersion(ctypes.byref(value)) == 0
    assert value.value == 13000


def test_without_a_version_it_is_torchs():
    value = ctypes.c_int()
    assert ctypes.CDLL("libcudart.so").cudaRuntimeGetVersion(ctypes.byref(value)) == 0
    assert value.value // 1000 == int(torch.version.cuda.split(".")[0])


def test_find_library_finds_it():
    assert re.fullmatch(r"libcudart\.so\.\d+", ctypes.util.find_library("cudart"))
    assert ctypes.util.find_library("c") == "libc.so.6"
    assert ctypes.util.find_library("no-such-library") is None


def test_the_maps_name_it_once_a_device_is_used():
    torch.zeros(1, device="cuda")
    with open("/proc/self/maps") as maps:
        paths = {line[line.index("/") :].strip() for line in maps if "libcudart" in line}
    (path, *_) = paths
    assert path.rpartition("/")[2].rpartition(".so")[0].startswith("libcudart")
    assert ctypes.CDLL(path).cudaDeviceSynchronize() == 0


def test_other_libraries_are_not_touched():
    assert ctypes.CDLL("libc.so.6").abs(-3) == 3
    assert ctypes.CDLL(None).abs(-3) == 3
    with pytest.raises(OSError, match="libcudart_static"):
        ctypes.CDLL("libcudart_static.so")
    with pytest.raises(OSError, match="libcublas"):
        ctypes.CDLL("libcublas.so.12")
    with pytest.raises(AttributeError, match="undefined symbol"):
        ctypes.CDLL("libc.so.6").no_such_function  # noqa: B018


def test_a_call_that_is_not_served_says_so():
    library = ctypes.CDLL("libcudart.so.12")
    library.cudaGetErrorString.restype = ctypes.c_char_p
    assert library.cudaLaunchKernel(None, None) == library.cudaGetLastError() == 801
    words = library.cudaGetErrorString(801).decode()
    assert words.startswith("operation not supported: cudaLaunchKernel of libcudart.so.12 is not served: ")


def test_a_missing_name_says_why():
    library = ctypes.CDLL("libcudart.so.12")
    with pytest.raises(AttributeError, match=r"libcudart\.so\.12: __cudaRegisterFatBinary .*'cpu'.*nvcc"):
        getattr(library, "__cudaRegisterFatBinary")
    with pytest.raises(AttributeError, match=r"libcudart\.so\.12: cudaNoSuchName .*no such name"):
        library.cudaNoSuchName  # noqa: B018
    assert not hasattr(library, "cudaBindTexture")  # which CUDA 12 has no more
    assert hasattr(ctypes.CDLL("libcudart.so.11.0"), "cudaBindTexture")


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
    assert library.nvmlErrorString(3).startswith(b"Not Supported: nvmlDeviceGetBAR1MemoryInfo: ")
    assert library.nvmlDeviceGetPowerUsage(device(library), byref(c_uint())) in (0, 3)
    assert library.nvmlErrorString(0) == b"Success"


def test_marks_answer_as_without_a_profiler():
    library = ctypes.CDLL("libnvToolsExt.so.1")
    assert library.nvtxRangePushA(b"range") == library.nvtxRangePop() == -2
    assert library.nvtxMarkA(b"mark") == library.nvtxRangeStartA(b"range") == 0
    assert library.nvtxDomainCreateA(b"domain") == 0
    with pytest.raises(AttributeError, match="profilers"):
        library.nvtxGetExportTable  # noqa: B018

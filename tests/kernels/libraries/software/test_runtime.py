"""libcudart on the software device, beside torch in the same process."""

import ctypes
import pathlib
import subprocess
from ctypes import byref, c_char, c_char_p, c_float, c_int, c_size_t, c_uint, c_void_p

import pytest
import torch

on_ascend_too = pytest.mark.platforms("cpu", "npu")
H2D, D2H, D2D, ANY = 1, 2, 3, 4
MANAGED = 3


class Attributes(ctypes.Structure):
    _fields_ = [("type", c_int), ("device", c_int), ("here", c_void_p), ("host", c_void_p)]


def runtime(name="libcudart.so.12"):
    torch.zeros(1, device="cuda")  # a vendor's package sets its runtime up at its first use
    library = ctypes.CDLL(name)
    library.cudaGetErrorString.restype = library.cudaGetErrorName.restype = c_char_p
    for name, types in {
        "cudaFree": [c_void_p],
        "cudaMalloc": [c_void_p, c_size_t],
        "cudaMemcpy": [c_void_p, c_void_p, c_size_t, c_int],
        "cudaMemset": [c_void_p, c_int, c_size_t],
        "cudaFreeHost": [c_void_p],
        "cudaHostUnregister": [c_void_p],
    }.items():
        getattr(library, name).argtypes = types
    return library


def taken(library, size):
    pointer = c_void_p()
    assert library.cudaMalloc(byref(pointer), size) == 0
    return pointer


@on_ascend_too
def test_memory_is_the_devices_beside_torchs_caches():
    library, (free, total) = runtime(), torch.cuda.mem_get_info()
    allocated, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    pointer = taken(library, 3 << 20)
    assert torch.cuda.mem_get_info() == (free - (3 << 20), total)
    assert (torch.cuda.memory_allocated(), torch.cuda.memory_reserved()) == (allocated, reserved)
    seen = c_size_t(), c_size_t()
    assert library.cudaMemGetInfo(byref(seen[0]), byref(seen[1])) == 0
    assert (seen[0].value, seen[1].value) == (free - (3 << 20), total)
    assert library.cudaFree(pointer) == 0
    assert torch.cuda.mem_get_info() == (free, total)


def test_memory_that_is_not_there_is_refused_to_both():
    library, (free, _) = runtime(), torch.cuda.mem_get_info()
    assert library.cudaMalloc(byref(c_void_p()), free + (1 << 20)) == 2
    assert library.cudaGetErrorString(library.cudaGetLastError()) == b"out of memory"
    pointer = taken(library, free - (8 << 20))
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
    library.cudaFree(pointer)


@on_ascend_too
def test_copies_between_host_device_and_a_tensor():
    library = runtime()
    numbers = torch.arange(256, dtype=torch.int32)
    pointer, tensor = taken(library, 1024), torch.zeros(256, dtype=torch.int32, device="cuda")
    assert library.cudaMemcpy(pointer, numbers.data_ptr(), 1024, H2D) == 0
    assert library.cudaMemcpy(tensor.data_ptr(), pointer, 1024, D2D) == 0
    assert torch.equal(tensor.cpu(), numbers)
    assert library.cudaMemset(tensor.data_ptr(), 0, 512) == library.cudaDeviceSynchronize() == 0
    assert tensor.tolist() == [0] * 128 + list(range(128, 256))
    library.cudaFree(pointer)


@pytest.mark.parametrize(
    ("direction", "size", "code"),
    [(H2D, 1024, 0), (D2H, 1024, 1), (H2D, 4096, 1), (7, 1024, 21), (ANY, 1024, 0)],
)
def test_a_copy_is_checked(direction, size, code):
    library, host = runtime(), (c_char * 4096)()
    pointer = taken(library, 1024)
    assert library.cudaMemcpy(pointer, host, size, direction) == code
    assert library.cudaGetLastError() == code
    assert library.cudaGetLastError() == 0
    library.cudaFree(pointer)


def test_rows_are_copied_with_their_pitch():
    library, pointer, pitch = runtime(), c_void_p(), c_size_t()
    assert library.cudaMallocPitch(byref(pointer), byref(pitch), c_size_t(100), c_size_t(4)) == 0
    assert pitch.value == 512
    source = torch.arange(400, dtype=torch.uint8).reshape(4, 100)
    back = torch.zeros_like(source)
    size = c_size_t(100), c_size_t(4)
    assert library.cudaMemcpy2D(pointer, pitch, c_void_p(source.data_ptr()), c_size_t(100), *size, H2D) == 0
    assert library.cudaMemcpy2D(c_void_p(back.data_ptr()), c_size_t(100), pointer, pitch, *size, D2H) == 0
    assert torch.equal(source, back)
    assert (
        library.cudaMemcpy2D(pointer, c_size_t(50), c_void_p(back.data_ptr()), c_size_t(100), *size, H2D)
        == 12
    )
    library.cudaFree(pointer)


def test_the_current_device_is_torchs():
    library, index, count = runtime(), c_int(), c_int()
    assert library.cudaGetDeviceCount(byref(count)) == 0
    assert count.value == torch.cuda.device_count() == 2
    with torch.cuda.device(1):
        assert library.cudaGetDevice(byref(index)) == 0
        assert index.value == 1
        before = [torch.cuda.mem_get_info(each)[0] for each in (0, 1)]
        pointer = taken(library, 4)
        assert library.cudaSetDevice(0) == 0
        assert torch.cuda.current_device() == 0
        assert [torch.cuda.mem_get_info(each)[0] for each in (0, 1)] == [before[0], before[1] - 512]
        library.cudaFree(pointer)
    assert library.cudaSetDevice(2) == library.cudaGetLastError() == 101


def test_pinned_memory_is_torchs_too():
    library, pointer = runtime(), c_void_p()
    assert library.cudaHostAlloc(byref(pointer), c_size_t(4096), c_uint(0)) == 0
    values = torch.frombuffer((c_char * 4096).from_address(pointer.value), dtype=torch.uint8)
    assert values.is_pinned()
    assert library.cudaFreeHost(pointer) == 0
    own = torch.zeros(4096, dtype=torch.uint8)
    assert int(torch.cuda.cudart().cudaHostRegister(own.data_ptr(), 4096, 0)) == 0
    assert own.is_pinned()
    assert library.cudaHostUnregister(own.data_ptr()) == 0
    assert not own.is_pinned()
    assert library.cudaHostUnregister(own.data_ptr()) == 713


def test_streams_and_events_are_torchs():
    library, ms = runtime(), c_float()
    stream, start, end = c_void_p(), c_void_p(), c_void_p()
    assert library.cudaStreamCreate(byref(stream)) == 0
    for event in (start, end):
        assert library.cudaEventCreate(byref(event)) == 0
    assert library.cudaEventElapsedTime(byref(ms), start, end) == 400  # not recorded
    assert library.cudaEventRecord(start, stream) == 0
    with torch.cuda.stream(torch.cuda.ExternalStream(stream.value)):
        torch.cuda._sleep(20_000_000)
    assert library.cudaStreamQuery(stream) == 600
    assert library.cudaEventRecord(end, stream) == 0
    assert library.cudaEventQuery(end) == library.cudaEventElapsedTime(byref(ms), start, end) == 600
    assert library.cudaEventSynchronize(end) == library.cudaStreamSynchronize(stream) == 0
    assert library.cudaEventElapsedTime(byref(ms), start, end) == 0
    assert 19 < ms.value < 500
    torchs = torch.cuda.Event(enable_timing=True)
    torchs.record()
    assert library.cudaEventSynchronize(c_void_p(torchs.cuda_event)) == 0
    for event in (start, end):
        assert library.cudaEventDestroy(event) == 0
    assert library.cudaEventDestroy(start) == 400
    assert library.cudaStreamDestroy(stream) == 0


def new_stream(library, priority=0):
    stream = c_void_p()
    assert library.cudaStreamCreateWithPriority(byref(stream), 1, priority) == 0
    return stream


def test_each_stream_that_lives_has_a_handle_of_its_own():
    library = runtime()
    streams = [new_stream(library) for _ in range(200)]
    handles = {stream.value for stream in streams} | {torch.cuda.Stream().cuda_stream for _ in range(32)}
    assert len(handles) == 232
    assert not handles & {0, 1, 2}  # cudaStreamLegacy and cudaStreamPerThread among them
    assert {library.cudaStreamDestroy(stream) for stream in streams} == {0}


def test_the_handles_of_the_default_stream():
    library = runtime()
    for handle in (0, 1, 2):
        torch.cuda._sleep(20_000_000)
        assert library.cudaStreamQuery(c_void_p(handle)) == 600
        assert (
            library.cudaStreamSynchronize(c_void_p(handle)) == library.cudaStreamQuery(c_void_p(handle)) == 0
        )
        assert library.cudaStreamDestroy(c_void_p(handle)) == 400


def test_handles_of_no_stream_are_refused():
    library, ended, value = runtime(), new_stream(runtime()), c_int()
    assert library.cudaStreamDestroy(ended) == 0
    never = new_stream(library).value + (1 << 20)
    for handle in (3, 7, 0xDEADBEEF, never, ended.value):
        stream = c_void_p(handle)
        assert library.cudaStreamDestroy(stream) == 400
        assert library.cudaStreamSynchronize(stream) == library.cudaStreamQuery(stream) == 400
        assert library.cudaStreamGetFlags(stream, byref(value)) == 400
        assert library.cudaMemsetAsync(taken(library, 64), 0, c_size_t(64), stream) == 400


def test_priorities_of_streams():
    library, value = runtime(), c_int()
    for priority, expected in ((0, 0), (-1, -1), (-3, -3), (-9, -3), (2, 0)):
        stream = new_stream(library, priority)
        assert ctypes.CDLL("libcuda.so.1").cuStreamGetPriority(stream, byref(value)) == 0
        assert value.value == expected
        assert torch.cuda.ExternalStream(stream.value).priority == expected


def threads(folder):
    source, built = pathlib.Path(__file__).with_name("threads.cpp"), folder / "threads.so"
    subprocess.run(["c++", "-shared", "-fPIC", "-pthread", source, "-o", built], check=True)
    return ctypes.CDLL(str(built))


def test_memory_that_threads_free_and_take_at_once(tmp_path):
    library = runtime()
    names = ("cudaMallocManaged", "cudaPointerGetAttributes", "cudaFree")
    functions = [ctypes.cast(getattr(library, name), c_void_p) for name in names]
    assert threads(tmp_path).count_wrong_kinds(*functions, 5000, MANAGED) == 0


def test_a_group_of_a_thread_that_python_has_not_made(tmp_path):
    library = ctypes.CDLL("libnccl.so.2")
    functions = [ctypes.cast(each, c_void_p) for each in (library.ncclGroupStart, library.ncclGroupEnd)]
    assert threads(tmp_path).greatest_code_of_a_group(*functions) == 0


def test_a_copy_cannot_be_captured():
    library, x = runtime(), torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    codes = []
    with pytest.raises(RuntimeError, match="capture"):  # noqa: PT012
        with torch.cuda.graph(graph):
            stream = c_void_p(torch.cuda.current_stream().cuda_stream)
            codes.append(library.cudaMemsetAsync(c_void_p(x.data_ptr()), 0, c_size_t(16), stream))
    assert codes == [900]


def test_attributes_are_the_properties_torch_reports():
    library, value = runtime(), c_int()
    properties = torch.cuda.get_device_properties(1)
    for number, name in {16: "multi_processor_count", 75: "major", 10: "warp_size", 33: "pci_bus_id"}.items():
        assert library.cudaDeviceGetAttribute(byref(value), number, 1) == 0
        assert value.value == getattr(properties, name)
    assert library.cudaDeviceGetAttribute(byref(value), 16, 2) == 101
    assert library.cudaDeviceGetAttribute(byref(value), 99999, 0) == 1
    block = ctypes.create_string_buffer(1032)
    assert library.cudaGetDeviceProperties_v2(block, 0) == 0
    assert block.value.decode() == torch.cuda.get_device_name(0)
    assert c_size_t.from_buffer(block, 288).value == properties.total_memory
    bus = ctypes.create_string_buffer(16)
    assert (
        library.cudaDeviceGetPCIBusId(bus, 16, 1) == library.cudaDeviceGetByPCIBusId(byref(value), bus) == 0
    )
    assert value.value == 1


def test_pointers_are_known():
    library, found = runtime(), Attributes()
    tensor, plain = torch.zeros(4, device="cuda:1"), torch.zeros(4)
    for pointer, kind, device in ((tensor.data_ptr(), 2, 1), (plain.data_ptr(), 0, -2)):
        assert library.cudaPointerGetAttributes(byref(found), c_void_p(pointer)) == 0
        assert (found.type, found.device) == (kind, device)
    managed = c_void_p()
    assert library.cudaMallocManaged(byref(managed), c_size_t(64), 1) == 0
    assert library.cudaPointerGetAttributes(byref(found), managed) == 0
    assert (found.type, found.host) == (MANAGED, managed.value)
    library.cudaFree(managed)


def test_a_host_function_is_called():
    library, seen = runtime(), []
    function = ctypes.CFUNCTYPE(None, c_void_p)(seen.append)
    assert library.cudaLaunchHostFunc(None, function, c_void_p(42)) == 0
    assert seen == [42]

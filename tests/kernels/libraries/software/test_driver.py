"""libcuda on the software device, beside torch and libcudart in the same process."""

import ctypes
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p

import torch


def driver():
    library = ctypes.CDLL("libcuda.so.1")
    assert library.cuInit(0) == 0
    library.cuMemFree_v2.argtypes = [c_void_p]
    library.cuCtxSetCurrent.argtypes = library.cuCtxPushCurrent_v2.argtypes = [c_void_p]
    return library


def words(library, code):
    text = c_char_p()
    assert library.cuGetErrorString(code, byref(text)) == 0
    return text.value.decode()


def test_devices_are_torchs():
    library, value, size = driver(), c_int(), c_size_t()
    assert library.cuDeviceGetCount(byref(value)) == 0
    assert value.value == torch.cuda.device_count()
    assert library.cuDeviceGet(byref(value), 5) == 101
    name = ctypes.create_string_buffer(100)
    assert library.cuDeviceGetName(name, 100, 1) == 0
    assert name.value.decode() == torch.cuda.get_device_name(1)
    assert library.cuDeviceTotalMem_v2(byref(size), 1) == 0
    assert size.value == torch.cuda.mem_get_info(1)[1]
    assert library.cuDeviceGetAttribute(byref(value), 75, 0) == 0
    assert value.value == torch.cuda.get_device_capability(0)[0]
    identity = ctypes.create_string_buffer(16)
    assert library.cuDeviceGetUuid_v2(identity, 0) == 0
    assert identity.raw == torch.cuda.get_device_properties(0).uuid.bytes
    assert library.cuDriverGetVersion(byref(value)) == 0
    assert value.value == 13000


def test_the_current_context_is_torchs_device():
    library, context, other, device = driver(), c_void_p(), c_void_p(), c_int()
    torch.cuda.set_device(0)
    torch.zeros(1, device="cuda:0")
    assert library.cuCtxGetCurrent(byref(context)) == 0
    assert context.value
    assert library.cuDevicePrimaryCtxRetain(byref(other), 1) == 0
    assert other.value != context.value
    assert library.cuCtxPushCurrent_v2(other) == 0
    assert torch.cuda.current_device() == 1
    assert library.cuCtxGetDevice(byref(device)) == 0
    assert device.value == 1
    assert library.cuCtxPopCurrent_v2(byref(other)) == 0
    assert torch.cuda.current_device() == 0
    assert library.cuCtxSetCurrent(context) == library.cuCtxSynchronize() == 0
    assert library.cuCtxPopCurrent_v2(byref(other)) == 0  # what was set took the first place of the stack
    assert other.value == context.value
    assert library.cuCtxPopCurrent_v2(byref(other)) == 201
    assert library.cuCtxSetCurrent(c_void_p(12345)) == 201


def test_memory_moves_between_host_device_and_tensor():
    library, pointer = driver(), c_void_p()
    free = torch.cuda.mem_get_info()[0]
    assert library.cuMemAlloc_v2(byref(pointer), c_size_t(4096)) == 0
    assert torch.cuda.mem_get_info()[0] == free - 4096
    assert library.cuMemsetD32_v2(pointer, c_uint(7), c_size_t(1024)) == 0
    host = torch.zeros(1024, dtype=torch.int32)
    assert library.cuMemcpyDtoH_v2(c_void_p(host.data_ptr()), pointer, c_size_t(4096)) == 0
    assert host.unique().tolist() == [7]
    tensor = torch.zeros(1024, dtype=torch.int32, device="cuda")
    assert library.cuMemcpyDtoD_v2(c_void_p(tensor.data_ptr()), pointer, c_size_t(4096)) == 0
    assert tensor.unique().tolist() == [7]
    assert library.cuMemcpyHtoD_v2(c_void_p(host.data_ptr()), pointer, c_size_t(4)) == 1
    start, size = c_void_p(), c_size_t()
    inside = c_void_p(pointer.value + 100)
    assert library.cuMemGetAddressRange_v2(byref(start), byref(size), inside) == 0
    assert (start.value, size.value) == (pointer.value, 4096)
    kind, device = c_uint(), c_int()
    assert library.cuPointerGetAttribute(byref(kind), 2, pointer) == 0
    assert library.cuPointerGetAttribute(byref(device), 9, pointer) == 0
    assert (kind.value, device.value) == (2, 0)
    assert library.cuPointerGetAttribute(byref(kind), 2, c_void_p(host.data_ptr())) == 1
    assert library.cuMemFree_v2(pointer) == 0
    assert torch.cuda.mem_get_info()[0] == free


def test_a_batch_of_copies():
    library, function, stream, failed = driver(), c_void_p(), c_void_p(), c_size_t()
    assert library.cuStreamCreate(byref(stream), 0) == 0
    source, target = torch.arange(8, device="cuda"), torch.zeros(8, dtype=torch.int64, device="cuda")
    to = (c_void_p * 2)(target.data_ptr(), target.data_ptr() + 32)
    start = (c_void_p * 2)(source.data_ptr() + 32, source.data_ptr())
    sizes, attributes, firsts = (c_size_t * 2)(24, 16), (c_uint * 6)(3), (c_size_t * 1)(0)
    given = (to, start, sizes, c_size_t(2), attributes, firsts, c_size_t(1))
    for version, last in ((12080, (byref(failed), stream)), (13000, (stream,))):
        target.zero_()
        found = library.cuGetProcAddress_v2(
            b"cuMemcpyBatchAsync", byref(function), version, c_uint64(0), None
        )
        call = ctypes.CFUNCTYPE(c_int)(function.value)
        assert found == call(*given, *last) == 0
        assert target.tolist() == [4, 5, 6, 0, 0, 1, 0, 0]
        assert call(*given, *last[:-1], c_void_p()) == 1  # as CUDA's, it refuses the default stream
    assert library.cuStreamDestroy_v2(stream) == 0


def test_rows_of_a_structure():
    class Copy(ctypes.Structure):
        _fields_ = [
            (f"{side}_{name}", kind)
            for side in ("from", "to")
            for name, kind in [
                ("x", c_size_t),
                ("y", c_size_t),
                ("kind", c_uint),
                ("host", c_void_p),
                ("device", c_void_p),
                ("array", c_void_p),
                ("pitch", c_size_t),
            ]
        ] + [("width", c_size_t), ("height", c_size_t)]

    library = driver()
    source = torch.arange(64, dtype=torch.uint8).reshape(8, 8)
    target = torch.zeros(4, 16, dtype=torch.uint8, device="cuda")
    rows = Copy(width=4, height=3, from_kind=1, from_host=source.data_ptr(), from_pitch=8, from_x=2, from_y=1)
    rows.to_kind, rows.to_device, rows.to_pitch = 2, target.data_ptr(), 16
    assert library.cuMemcpy2D_v2(byref(rows)) == 0
    assert torch.equal(target[:3, :4].cpu(), source[1:4, 2:6])
    assert target.sum() == source[1:4, 2:6].sum()


def test_streams_and_events_are_the_runtimes():
    library, runtime, event = driver(), ctypes.CDLL("libcudart.so.13"), c_void_p()
    assert library.cuEventCreate(byref(event), 0) == 0
    assert runtime.cudaEventRecord(event, None) == 0
    assert library.cuEventQuery(event) == library.cuEventSynchronize(event) == 0
    assert library.cuEventDestroy_v2(event) == 0
    stream = c_void_p()
    assert library.cuStreamCreate(byref(stream), 0) == 0
    with torch.cuda.stream(torch.cuda.ExternalStream(stream.value)):
        torch.cuda._sleep(10_000_000)
    assert library.cuStreamQuery(stream) == 600
    assert library.cuStreamSynchronize(stream) == library.cuStreamQuery(stream) == 0


def test_a_graph_is_refused_by_name():
    library = driver()
    assert library.cuGraphCreate(byref(c_void_p()), 0) == 801
    assert words(library, 801).startswith("operation not supported: cuGraphCreate of libcuda.so.1 is not")
    assert words(library, 101) == "invalid device ordinal"
    name = c_char_p()
    assert library.cuGetErrorName(2, byref(name)) == 0
    assert name.value == b"CUDA_ERROR_OUT_OF_MEMORY"
    assert library.cuGetErrorName(98765, byref(name)) == 1


def test_functions_are_found_by_their_symbols():
    library, found, status = driver(), c_void_p(), c_int()
    for symbol, exported in {b"cuMemAlloc": "cuMemAlloc_v2", b"cuInit": "cuInit"}.items():
        assert (
            library.cuGetProcAddress_v2(symbol, byref(found), 12000, ctypes.c_uint64(0), byref(status)) == 0
        )
        assert found.value == ctypes.cast(getattr(library, exported), c_void_p).value
    assert library.cuGetProcAddress_v2(b"cuNothing", byref(found), 12000, ctypes.c_uint64(0), None) == 500


def test_what_the_runtime_made_is_the_drivers_too():
    runtime, driver = ctypes.CDLL("libcudart.so.12"), ctypes.CDLL("libcuda.so.1")
    event, pinned = ctypes.c_void_p(), ctypes.c_void_p()
    assert runtime.cudaEventCreate(ctypes.byref(event)) == 0
    assert driver.cuEventRecord(event, None) == 0
    assert driver.cuEventDestroy_v2(event) == 0
    assert runtime.cudaEventRecord(event, None) == 400  # it is no more
    assert driver.cuMemHostAlloc(ctypes.byref(pinned), ctypes.c_size_t(4096), 0) == 0
    assert runtime.cudaFreeHost(pinned) == 0
    assert ctypes.CDLL("libcudart.so.11.0").cudaFreeHost(pinned) == 1
    assert runtime.cudaHostRegister(ctypes.c_void_p(8), ctypes.c_size_t(1 << 40), 0) == 1

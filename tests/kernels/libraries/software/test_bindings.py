"""cuda-python's bindings on the software device."""

import ctypes
import importlib
import importlib.metadata

import pytest
import torch


def bindings():
    from cuda.bindings import driver, runtime  # which only the worker has

    return driver, runtime


def checked(result):
    driver, runtime = bindings()
    error, *values = result
    assert error in (driver.CUresult.CUDA_SUCCESS, runtime.cudaError_t.cudaSuccess)
    return values[0] if len(values) == 1 else values


def test_it_is_cuda_pythons_distribution():
    from cuda import cudart

    _, runtime = bindings()
    assert importlib.metadata.version("cuda-bindings") == importlib.import_module("cuda.bindings").__version__
    assert importlib.metadata.version("cuda-python")
    assert cudart.cudaMalloc is runtime.cudaMalloc


def test_memory_by_the_driver():
    driver, _ = bindings()
    checked(driver.cuInit(0))
    device = checked(driver.cuDeviceGet(0))
    checked(driver.cuCtxPushCurrent(checked(driver.cuDevicePrimaryCtxRetain(device))))
    pointer = checked(driver.cuMemAlloc(1024))
    sent, back = bytes(range(256)) * 4, bytearray(1024)
    checked(driver.cuMemcpyHtoD(pointer, sent, 1024))
    checked(driver.cuMemcpyDtoH(back, pointer, 1024))
    assert bytes(back) == sent
    host = torch.zeros(1024, dtype=torch.uint8)
    checked(driver.cuMemcpyDtoH(host.data_ptr(), int(pointer) + 256, 256))
    assert host[:256].tolist() == [*range(256)]
    checked(driver.cuMemFree(pointer))
    checked(driver.cuCtxPopCurrent())
    assert driver.cuMemFree(pointer) == (driver.CUresult.CUDA_ERROR_INVALID_VALUE,)


def test_bytes_are_read_where_they_are():
    handles = importlib.import_module("cuda._morph.handles")
    for value in (b"some text", bytearray(b"some text"), memoryview(b"some text")):
        assert ctypes.string_at(handles.address(value), 9) == b"some text"
    assert handles.address(b"some text") == ctypes.cast(b"some text", ctypes.c_void_p).value
    with pytest.raises(TypeError, match="bytes-like object is required"):
        handles.address([1])


def test_memory_by_the_runtime():
    _, runtime = bindings()
    tensor = torch.arange(16, dtype=torch.float32, device="cuda")
    pointer = checked(runtime.cudaMalloc(64))
    kinds = runtime.cudaMemcpyKind
    checked(runtime.cudaMemcpy(pointer, tensor.data_ptr(), 64, kinds.cudaMemcpyDeviceToDevice))
    host = torch.zeros(16)
    checked(runtime.cudaMemcpy(host.data_ptr(), pointer, 64, kinds.cudaMemcpyDeviceToHost))
    assert host.tolist() == tensor.tolist()
    found = checked(runtime.cudaPointerGetAttributes(pointer))
    assert found.type == runtime.cudaMemoryType.cudaMemoryTypeDevice
    assert len(checked(runtime.cudaIpcGetMemHandle(pointer)).reserved) == 64
    checked(runtime.cudaFree(pointer))
    assert checked(runtime.cudaMemGetInfo()) == [*torch.cuda.mem_get_info()]


def test_devices_streams_and_errors():
    driver, runtime = bindings()
    properties = checked(runtime.cudaGetDeviceProperties(1))
    own = torch.cuda.get_device_properties(1)
    assert (properties.name.decode(), properties.totalGlobalMem) == (own.name, own.total_memory)
    assert (properties.major, properties.multiProcessorCount) == (own.major, own.multi_processor_count)
    attribute = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_WARP_SIZE
    assert checked(driver.cuDeviceGetAttribute(attribute, 0)) == 32
    assert checked(driver.cuDeviceGetName(64, 0)).rstrip(b"\0").decode() == own.name
    stream, event = checked(runtime.cudaStreamCreate()), checked(runtime.cudaEventCreate())
    checked(runtime.cudaEventRecord(event, stream))
    checked(runtime.cudaStreamSynchronize(stream))
    assert torch.cuda.ExternalStream(int(stream)).query()
    checked(runtime.cudaEventDestroy(event))
    error, value = runtime.cudaDeviceGetAttribute(runtime.cudaDeviceAttr.cudaDevAttrWarpSize, 9)
    assert (error.name, value) == ("cudaErrorInvalidDevice", None)
    assert checked(runtime.cudaGetErrorString(error)) == b"invalid device ordinal"
    assert checked(driver.cuGetErrorName(driver.CUresult(1))) == b"CUDA_ERROR_INVALID_VALUE"
    with pytest.raises(TypeError, match="cudaMalloc.. takes 1 arguments .size., not 2"):
        runtime.cudaMalloc(1, 2)


@pytest.mark.parametrize(
    ("module", "name", "reason"),
    [
        ("nvrtc", "nvrtcGetLTOIR", "libnvrtc.toml"),
        ("driver", "cuTexRefCreate", "libcuda.toml"),
        ("runtime", "cudaGraphCreate", "torch.cuda.graph"),
    ],
)
def test_what_is_missing_is_refused_by_name(module, name, reason):
    module = importlib.import_module(f"cuda.bindings.{module}")
    with pytest.raises(AttributeError, match=f"{name} does not exist.*{reason}"):
        getattr(module, name)
    assert not hasattr(module, name)


def test_an_array_is_its_memory_and_not_a_number():
    numpy = pytest.importorskip("numpy")
    _, runtime = bindings()
    sent, back = numpy.arange(256, dtype=numpy.uint8), numpy.zeros(256, dtype=numpy.uint8)
    pointer = checked(runtime.cudaMalloc(256))
    checked(runtime.cudaMemcpy(pointer, sent, 256, runtime.cudaMemcpyKind.cudaMemcpyHostToDevice))
    checked(runtime.cudaMemcpy(back, pointer, 256, runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost))
    assert (sent == back).all()
    checked(runtime.cudaFree(pointer))


def test_enumerations_of_virtual_memory_are_there_without_its_functions():
    driver, _ = bindings()
    assert driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_RECOMMENDED == 1
    assert driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_FABRIC == 8
    assert driver.CUmemLocationType(1) is driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    assert not hasattr(driver, "cuMemCreate")


def test_a_kernel_that_is_compiled_at_run_time():
    driver, _ = bindings()
    from cuda.bindings import nvrtc

    source = b"template <class T> __global__ void scale(T* x, T by) { x[threadIdx.x] *= by; }"
    program = checked(nvrtc.nvrtcCreateProgram(source, b"scale.cu", 0, [], []))
    checked(nvrtc.nvrtcAddNameExpression(program, b"scale<float>"))
    checked(nvrtc.nvrtcCompileProgram(program, 2, [b"--fmad=false", b"--gpu-architecture=sm_80"]))
    image = b" " * checked(nvrtc.nvrtcGetCUBINSize(program))
    checked(nvrtc.nvrtcGetCUBIN(program, image))
    name = checked(nvrtc.nvrtcGetLoweredName(program, b"scale<float>"))
    checked(nvrtc.nvrtcDestroyProgram(program))
    kernel = checked(driver.cuModuleGetFunction(checked(driver.cuModuleLoadData(image)), name))
    x = torch.arange(4, dtype=torch.float32, device="cuda")
    arguments = ((x.data_ptr(), 2.5), (ctypes.c_void_p, ctypes.c_float))
    checked(driver.cuLaunchKernel(kernel, 1, 1, 1, 4, 1, 1, 0, 0, arguments, 0))
    assert x.tolist() == [0, 2.5, 5, 7.5]

"""libnvrtc and libcuda's modules on the software device, as programs use them by ctypes."""

import ctypes
import functools
import time
from ctypes import byref, c_char_p, c_double, c_float, c_int, c_size_t, c_uint, c_void_p
from unittest import mock

import pytest
import torch

SOURCE = """
#include "scale.h"
#include <cuda/std/bit>
__constant__ float factors[4];
__device__ int launches;
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
template <class T> __global__ void scale(T* x, T by, int n) {
  if (threadIdx.x < n) x[threadIdx.x] = scaled(x[threadIdx.x], by);
}
namespace own {
__global__ void __launch_bounds__(128) fill(float* x, char c, double d) {
  x[threadIdx.x] = factors[threadIdx.x] * c + d;
}
__global__ void fill(int* x) { *x = ++launches; }
}
template <class T> __device__ void alike(T x) {}
__global__ void alike(int* x,
                      unsigned y) { *x = cuda::std::byteswap(y); }
extern "C" __global__ void wrong(int* x) { assert(x == nullptr); }
"""
HEADER = b"template <class T> __device__ T scaled(T value, T by) { return value * by; }"


class Program:
    """A program of nvrtc's."""

    def __init__(self, source, headers=None, expressions=()):
        self.nvrtc, self.handle, headers = ctypes.CDLL("libnvrtc.so.12"), c_void_p(), headers or {}
        texts = (c_char_p * len(headers))(*headers.values()), (c_char_p * len(headers))(*headers)
        code = self.nvrtc.nvrtcCreateProgram(
            byref(self.handle), source.encode(), b"own.cu", len(headers), *texts
        )
        assert code == 0
        for each in expressions:
            assert self.nvrtc.nvrtcAddNameExpression(self.handle, each.encode()) == 0

    def compile(self, *options):
        given = (c_char_p * len(options))(*map(str.encode, options))
        return self.nvrtc.nvrtcCompileProgram(self.handle, len(options), given)

    def get(self, what):
        size = c_size_t()
        assert self.nvrtc[f"nvrtcGet{what}Size"](self.handle, byref(size)) == 0
        found = ctypes.create_string_buffer(size.value)
        return found.raw if size.value and self.nvrtc[f"nvrtcGet{what}"](self.handle, found) == 0 else b""

    def lowered(self, expression):
        name = c_char_p()
        assert self.nvrtc.nvrtcGetLoweredName(self.handle, expression.encode(), byref(name)) == 0
        return name.value


@functools.cache
def compiled():
    program = Program(SOURCE, {b"scale.h": HEADER}, ["scale<double>", "&factors"])
    assert program.compile("--gpu-architecture=sm_80", "-default-device", "--std=c++14", "-DUNUSED") == 0
    return program


@functools.cache
def driver():
    torch.zeros(1, device="cuda")
    return ctypes.CDLL("libcuda.so.1")


def load(image):
    module = c_void_p()
    assert driver().cuModuleLoadData(byref(module), image) == 0
    return module


def function(module, name):
    found = c_void_p()
    assert driver().cuModuleGetFunction(byref(found), module, name) == 0
    return found


def launch(kernel, grid, block, *values, stream=0):
    arguments = (c_void_p * len(values))(*map(ctypes.addressof, values))
    sizes = [c_uint(each) for each in (grid, 1, 1, block, 1, 1, 0)]
    return driver().cuLaunchKernel(kernel, *sizes, c_void_p(stream), arguments, None)


def words(code):
    text = c_char_p()
    assert driver().cuGetErrorString(code, byref(text)) == 0
    return text.value.decode()


def test_a_kernel_by_its_name():
    x, y, z = (
        torch.rand(1000, device="cuda"),
        torch.rand(1000, device="cuda"),
        torch.zeros(1000, device="cuda"),
    )
    kernel = function(load(compiled().get("CUBIN")), b"add")
    pointers = [c_void_p(each.data_ptr()) for each in (x, y, z)]
    assert launch(kernel, 4, 256, *pointers, c_int(1000), stream=torch.cuda.Stream().cuda_stream) == 0
    assert torch.equal(z, x + y)
    assert launch(kernel, 4, 256, *pointers, c_int(1000), stream=12345) == 400


def test_a_template_by_its_lowered_name():
    x = torch.arange(8, dtype=torch.float64, device="cuda")
    kernel = function(load(compiled().get("PTX")), compiled().lowered("scale<double>"))
    assert launch(kernel, 1, 32, c_void_p(x.data_ptr()), c_double(2.5), c_int(8)) == 0
    assert x.tolist() == [2.5 * i for i in range(8)]


def test_a_kernel_whose_name_is_a_functions_too():
    x = torch.zeros(1, dtype=torch.int32, device="cuda")
    kernel = function(load(compiled().get("PTX")), b"_Z5alikePij")
    assert launch(kernel, 1, 1, c_void_p(x.data_ptr()), c_uint(0x01020304)) == 0
    assert x.item() == 0x04030201


def test_each_module_has_its_own_variables():
    first, second = load(compiled().get("PTX")), load(compiled().get("PTX"))
    place, size = c_void_p(), c_size_t()
    name = compiled().lowered("&factors")
    assert driver().cuModuleGetGlobal_v2(byref(place), byref(size), first, name) == 0
    assert size.value == 16
    assert driver().cuMemcpyHtoD_v2(place, (c_float * 4)(1, 2, 3, 4), c_size_t(16)) == 0
    assert driver().cuModuleGetGlobal_v2(byref(place), None, first, b"nothing") == 500
    for module, expected in ((first, [7.5, 14.5, 21.5, 28.5]), (second, [0.5] * 4)):
        x = torch.zeros(4, device="cuda")
        kernel = function(module, b"_ZN3own4fillEPfcd")
        assert launch(kernel, 1, 4, c_void_p(x.data_ptr()), ctypes.c_byte(7), c_double(0.5)) == 0
        assert x.tolist() == expected
    assert driver().cuModuleUnload(first) == 0
    assert driver().cuModuleGetFunction(byref(place), first, b"add") == 400


def test_static_variables_are_found_too():
    program = Program(
        """static __constant__ int table[2];
        static __device__ int count = 3;
        static __device__ int added(int x) { return x + count; }
        extern "C" __global__ void add(int* x) { *x = added(table[1]); }"""
    )
    assert program.compile() == 0
    module, x = load(program.get("PTX")), torch.zeros(1, dtype=torch.int32, device="cuda")
    place, size = c_void_p(), c_size_t()
    for name, bytes_of_it in ((b"count", 4), (b"table", 8)):
        assert driver().cuModuleGetGlobal_v2(byref(place), byref(size), module, name) == 0
        assert size.value == bytes_of_it
    assert driver().cuMemcpyHtoD_v2(place, (c_int * 2)(4, 5), size) == 0
    assert launch(function(module, b"add"), 1, 1, c_void_p(x.data_ptr())) == 0
    assert x.item() == 8


def test_arguments_in_one_block():
    x = torch.zeros(4, device="cuda")
    kernel, offset, size = function(load(compiled().get("PTX")), b"_ZN3own4fillEPfcd"), c_size_t(), c_size_t()
    assert driver().cuFuncGetParamInfo(kernel, c_size_t(2), byref(offset), byref(size)) == 0
    assert (offset.value, size.value) == (16, 8)
    block = ctypes.create_string_buffer(24)
    c_void_p.from_buffer(block).value, c_double.from_buffer(block, 16).value = x.data_ptr(), 4.25
    extra = (c_void_p * 5)(1, ctypes.addressof(block), 2, ctypes.addressof(c_size_t(24)), 0)
    assert driver().cuLaunchKernel(kernel, *map(c_uint, (1, 1, 1, 4, 1, 1, 0)), None, None, extra) == 0
    assert x.tolist() == [4.25] * 4


def test_errors_of_launches_name_the_kernel():
    module, x = load(compiled().get("PTX")), torch.zeros(1, device="cuda")
    code = launch(function(module, b"add"), 1, 2048, *[c_void_p()] * 3, c_int(0))
    assert code == 1
    assert "add: invalid configuration argument (<<<(1, 1, 1), (2048, 1, 1), 0>>>)" in words(code)
    assert launch(function(module, b"wrong"), 1, 1, c_void_p(x.data_ptr())) == 710
    assert "x == nullptr at own.cu:22" in words(710)
    assert driver().cuModuleGetFunction(byref(c_void_p()), module, b"nothing") == 500
    assert "it has" in words(500)


def test_a_graph_repeats_launches():
    kernel, x = function(load(compiled().get("PTX")), b"add"), torch.zeros(4, device="cuda")
    y, graph = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        assert launch(kernel, 1, 4, *[c_void_p(each.data_ptr()) for each in (x, y, x)], c_int(4)) == 0
    assert x.tolist() == [0] * 4
    graph.replay()
    graph.replay()
    assert x.tolist() == [2] * 4


def test_a_library_of_kernels():
    library, kernel, name, count = c_void_p(), c_void_p(), c_char_p(), c_uint()
    nothing = [None, None, 0, None, None, 0]
    assert driver().cuLibraryLoadData(byref(library), compiled().get("PTX"), *nothing) == 0
    assert driver().cuLibraryGetKernelCount(byref(count), library) == 0
    assert count.value == 6
    assert driver().cuLibraryGetKernel(byref(kernel), library, b"add") == 0
    assert driver().cuKernelGetFunction(byref(kernel), kernel) == 0
    assert driver().cuFuncGetName(byref(name), kernel) == 0
    assert name.value == b"add"
    assert driver().cuLibraryUnload(library) == 0


def test_a_link_of_one_image():
    state, image, size = c_void_p(), c_void_p(), c_size_t()
    ptx = compiled().get("PTX")
    assert driver().cuLinkCreate_v2(0, None, None, byref(state)) == 0
    given = (state, 1, ptx, c_size_t(len(ptx)), b"own", 0, None, None)
    assert driver().cuLinkAddData_v2(*given) == 0
    assert driver().cuLinkAddData_v2(*given) == 801
    assert driver().cuLinkComplete(state, byref(image), byref(size)) == 0
    assert function(load(image), b"add")
    assert driver().cuLinkDestroy(state) == 0


@pytest.mark.parametrize(
    ("image", "code", "reason"),
    [
        (
            b"//\n// Generated by NVIDIA NVVM Compiler\n//\n.version 8.4\n.target sm_80\n",
            218,
            "NVIDIA NVVM Compiler made",
        ),
        (b"\x7fELF\x02\x01\x01", 209, "compiled for a GPU"),
        (b"\x50\xed\x55\xba\x01", 209, "compiled for a GPU"),
        (b"junk", 200, "no image of a module"),
    ],
)
def test_what_was_made_for_a_gpu_is_refused(image, code, reason):
    assert driver().cuModuleLoadData(byref(c_void_p()), image) == code
    assert reason in words(code)
    assert "torch.utils.cpp_extension" in words(code)


def test_a_damaged_image_is_refused():
    image = compiled().get("PTX")
    assert driver().cuModuleLoadData(byref(c_void_p()), image[:-200] + b"\0") == 200
    assert "not whole" in words(200)
    assert (
        driver().cuModuleLoadData(byref(c_void_p()), image.replace(b"toolkit cuda-", b"toolkit cuda-0"))
        == 200
    )
    assert "another release" in words(200)


def test_a_program_that_does_not_compile_has_a_log():
    program = Program('extern "C" __global__ void one() {\n  int x = nothing;\n}')
    assert program.compile() == 6
    assert b"own.cu(2): error: " in program.get("ProgramLog")
    assert program.compile("--gpu-architecture=sm_1") == 5
    assert program.compile("-dlto") == 5
    assert b"-dlto: the software device makes no such code" in program.get("ProgramLog")
    assert program.get("PTX") == b""


def test_what_is_compiled_is_kept_until_a_header_changes(tmp_path):
    header = tmp_path / "own.h"
    source = '#include "own.h"\nextern "C" __global__ void one(int* x) { *x = VALUE; }'
    x = torch.zeros(1, dtype=torch.int32, device="cuda")
    for value in (3, 14):
        header.write_text(f"#define VALUE {value}")
        program = Program(source)
        assert program.compile(f"-I{tmp_path}") == 0
        assert launch(function(load(program.get("PTX")), b"one"), 1, 1, c_void_p(x.data_ptr())) == 0
        assert x.item() == value


def test_headers_beside_a_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "beside.h").write_text("#define BESIDE 3")
    program = Program('#include "beside.h"\nextern "C" __global__ void one(int* x) { *x = BESIDE; }')
    assert program.compile("--no-source-include") == 6
    assert program.compile() == 0


def test_versions_and_architectures():
    nvrtc, major, minor, count = ctypes.CDLL("libnvrtc.so"), c_int(), c_int(), c_int()
    assert nvrtc.nvrtcVersion(byref(major), byref(minor)) == 0
    assert f"{major.value}.{minor.value}" == torch.version.cuda
    assert nvrtc.nvrtcGetNumSupportedArchs(byref(count)) == 0
    found = (c_int * count.value)()
    assert nvrtc.nvrtcGetSupportedArchs(found) == 0
    assert 80 in list(found)
    nvrtc.nvrtcGetErrorString.restype = c_char_p
    assert nvrtc.nvrtcGetErrorString(6) == b"NVRTC_ERROR_COMPILATION"
    assert nvrtc.nvrtcGetLTOIRSize(None, None) == 11
    assert b"nvrtcGetLTOIRSize" in nvrtc.nvrtcGetErrorString(11)


@pytest.mark.skipif(not hasattr(torch.cuda, "_compile_kernel"), reason="since torch 2.9")
def test_torchs_own_compilation():
    source = "template <class T> __global__ void twice(T* x) { x[threadIdx.x] *= 2; }"
    kernel = torch.cuda._compile_kernel(source, "twice<float>")
    x = torch.ones(4, device="cuda")
    kernel((1, 1, 1), (4, 1, 1), [x])
    assert x.tolist() == [2.0] * 4
    with pytest.raises(RuntimeError, match="Kernel compilation failed"):
        torch.cuda._compile_kernel("nothing", "twice")


def test_an_interrupt_is_raised_once_the_call_is_back():
    from morph.kernels.extensions import modules

    def interrupted(*arguments):
        raise KeyboardInterrupt

    @mock.patch.object(modules, "build", interrupted)
    def compile_and_go_on():
        assert Program("").compile() == 11
        for _ in range(50):  # a sleep is not cut short
            time.sleep(0.1)

    with pytest.raises(KeyboardInterrupt):
        compile_and_go_on()


def test_the_log_names_a_missing_header_as_nvrtc_does():
    program = Program('#include "nothing.h"')
    assert program.compile() == 6
    assert b'own.cu(1): catastrophic error: cannot open source file "nothing.h"' in program.get("ProgramLog")

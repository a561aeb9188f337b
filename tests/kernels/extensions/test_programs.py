"""Programs of their own, which ``nvcc`` links and which start by themselves, as processes."""

import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

from tests.platforms import REPOSITORY

SOURCES = pathlib.Path(__file__).parent / "programs"
ABORTED = -6


def test_a_program_is_a_process_like_others(run):
    run("nvcc", "-O2", SOURCES / "process.cu", "-o", "process")
    done = run("./process", "-x", "an option", "last", status=5)
    assert done.stdout == "./process an option last 4950 40 of the test input"
    assert done.stderr == "begins\nends\n"


def test_without_its_python_a_program_says_what_is_missing(run):
    run("nvcc", SOURCES / "outside.cu", "-o", "outside")
    said = run("./outside", status=127, MORPH_PYTHON="/nowhere/python").stderr
    assert said == "./outside: morph's Python does not start: /nowhere/python; MORPH_PYTHON names another\n"


def test_a_program_that_uses_the_driver_nvrtc_and_nccl(run):
    run("nvcc", SOURCES / "served.cu", "-o", "served", "-lcuda", "-lnvrtc", "-lnccl")
    done = run("./served", MORPH_DEVICES="2")
    assert done.stdout == "8 unsigned int const* 9 3 6 9\nCUDA_ERROR_ASSERT\n"
    assert "assert triggered: x == nullptr at own.cu:3" in done.stderr


def test_a_thread_that_tells_other_blocks_tells_what_its_own_has_written(run):
    run("nvcc", "-O2", SOURCES / "arrivals.cu", "-o", "arrivals")
    assert run("./arrivals").stdout == "no error, 0 wrong\n"


@pytest.mark.long
def test_other_ends_of_a_program(run):
    run("nvcc", SOURCES / "process.cu", "-o", "folder")
    assert run("./folder", "exits", status=3).stderr == "begins\nends\n"
    assert run("./folder", "aborts", status=ABORTED).stdout == ""
    assert run(sys.executable, "-m", "morph", "./folder", "last", status=5, PYTHONPATH=str(REPOSITORY)).stdout
    refused = run(
        *(sys.executable, "-m", "morph", "--rehearse", "npu", "./folder", "last"),
        status=2,
        PYTHONPATH=str(REPOSITORY),
    )
    assert "a program in CUDA C++ runs on the software device" in refused.stderr


@pytest.mark.long
def test_other_programs_are_refused(run, tmp_path):
    command = [sys.executable, "-m", "morph", "--backend", "cpu"]
    variables = {"PYTHONPATH": str(REPOSITORY)}
    said = run(*command, shutil.which("true"), status=2, **variables).stderr
    assert "it is neither in Python nor linked by morph's nvcc" in said
    run("nvcc", SOURCES / "outside.cu", "-o", "outside")
    linked = (tmp_path / "outside").read_bytes()
    (tmp_path / "outside").write_bytes(
        re.sub(rb"(/cuda-)[0-9a-f]{4}(?=[0-9a-f]+/lib64/)", rb"\g<1>0000", linked)
    )
    assert "it was linked for another morph or torch; build it again" in run("./outside", status=2).stderr


@pytest.mark.long
def test_errors_are_numbers(run):
    run("nvcc", SOURCES / "errors.cu", "-o", "errors")
    done = run("./errors")
    invalid, asserted = "cudaErrorInvalidConfiguration", "cudaErrorAssert"
    fine = "cudaSuccess"
    lines = [invalid, invalid, fine, "cudaErrorInvalidValue", fine, *[asserted] * 4, fine, fine]
    assert done.stdout.split() == lines
    assert done.stderr.count("morph: CUDA error: ") == 3
    assert "device-side assert triggered: n < 3" in done.stderr


MISUSED = """\
5 (misuse): tex1D: there is no texture object 0
6 (misuse): tex2D of int32x1: the texture is of float32x1
7 (misuse): tex2D of float32x2: the texture is of float32x1
8 (misuse): tex2DLayered: the texture is of two dimensions
9 (misuse): tex2Dgather: it needs an array made with cudaArrayTextureGather
10 (misuse): surf2Dread: nothing is at (32, 0, 0)
11 (misuse): surf2Dwrite: a misaligned element at (2, 0, 0)
12 (misuse): tex2D: the texture's array was freed
12 (misuse): tex2D: there is no texture object"""


@pytest.mark.long
def test_misused_textures_and_surfaces(run):
    run("nvcc", "-lineinfo", SOURCES / "textures.cu", "-o", "textures", MORPH_SANITIZE="memory")
    done = run("./textures", MORPH_SANITIZE="memory")
    names = (
        "InvalidFilterSetting InvalidValue InvalidChannelDescriptor NotSupported InvalidValue NotSupported"
    )
    assert done.stdout.split() == [f"cudaError{name}" for name in [*names.split(), *["LaunchFailure"] * 9]]
    for line in MISUSED.splitlines():
        assert f"textures.cu:{line}" in done.stderr
    said = run("./textures", "past", status=700 % 256, MORPH_SANITIZE="memory").stderr
    assert "textures.cu:14 (past): a read of 4 bytes" in said


@pytest.mark.long
def test_trap_ends_a_launch(run, tmp_path):
    (tmp_path / "trap.cu").write_text(
        """#include <cstdio>
__global__ void checked(int limit) {
  if (threadIdx.x >= limit) asm volatile("trap;");
}
int main() {
  for (int limit : {32, 7}) {
    checked<<<1, 32>>>(limit);
    puts(cudaGetErrorName(cudaDeviceSynchronize()));
  }
}
"""
    )
    run("nvcc", "trap.cu", "-o", "trap")
    done = run("./trap")
    assert done.stdout.split() == ["cudaSuccess", "cudaErrorAssert"]
    assert (
        "the instruction trap was carried out at trap.cu:3 (checked), block [0,0,0], thread [7,0,0]"
        in done.stderr
    )


@pytest.mark.long
def test_the_sanitizer_looks_at_a_program(run):
    run("nvcc", SOURCES / "outside.cu", "-o", "outside", MORPH_SANITIZE="memory")
    said = run("./outside", status=700 % 256, MORPH_SANITIZE="memory").stderr
    assert "outside.cu:3 (fill): a write of 4 bytes just after an allocation of 400 bytes on cuda:0" in said


@pytest.mark.long
def test_the_devices_are_those_of_the_environment(run, tmp_path):
    (tmp_path / "count.cu").write_text(
        "int main() { int n; cudaGetDeviceCount(&n); cudaDeviceProp p; cudaGetDeviceProperties(&p, 0);"
        " return n * 10 + p.major; }"
    )
    run("nvcc", "count.cu", "-o", "count")
    run("./count", status=29, MORPH_DEVICES="2", MORPH_DEVICE_PROFILE="h100")


PARTS = "12 4 3 caught 1\n"


@pytest.mark.long
def test_a_program_of_several_files(run):
    run("nvcc", "-rdc=true", "-c", SOURCES / "parts.cu", "-o", "parts.o")
    run("nvcc", "-dc", SOURCES / "twice.cu", "-o", "twice.o")
    run("nvcc", "-c", SOURCES / "root.c", "-o", "root.o")
    run("g++", "-fPIC", "-fopenmp", "-c", SOURCES / "host.cpp", "-o", "host.o")
    run("nvcc", "-arch=sm_80", "-dlink", "parts.o", "twice.o", "-o", "device.o")
    run("nvcc", "-lib", "twice.o", "root.o", "-o", "libmore.a")
    objects = ["parts.o", "host.o", "device.o", "-L.", "-lmore"]
    libraries = ["-lcublas", "-lcurand", "-lcufft", "-lcusolver", "-lcudart", "-lm"]
    run("nvcc", "-Xcompiler", "-fopenmp", *objects, *libraries, "-o", "parts")
    assert run("./parts").stdout == PARTS


def test_a_file_of_c_plus_plus_launches_kernels_by_their_addresses(run, toolkit):
    run("nvcc", "-c", SOURCES / "addressed.cu", "-o", "kernels.o")
    run("g++", f"-I{toolkit / 'include'}", "-c", SOURCES / "addressed.cpp", "-o", "host.o")
    run("nvcc", "kernels.o", "host.o", "-o", "addressed")
    assert run("./addressed").stdout == "0 0 14 14\n"


def test_lanes_that_match_keep_step(run):
    run("nvcc", SOURCES / "in_step.cu", "-o", "in_step")
    assert run("./in_step").stdout == "0\n"


@pytest.mark.long
def test_a_program_in_c(run, tmp_path):
    run("nvcc", "-c", SOURCES / "in_c.c", "-MD", "-MF", "in_c.d", "-o", "in_c.o")
    assert "cusparse.h" in (tmp_path / "in_c.d").read_text()
    run("nvcc", "in_c.o", SOURCES / "root.c", "-lcusparse", "-o", "in_c")
    assert run("./in_c").stdout == "0 1 4\n"


@pytest.mark.long
@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_cmake_builds_a_program(run):
    run("cmake", "-S", SOURCES, "-B", "build", CC="nvcc", CXX="nvcc")
    run("cmake", "--build", "build")
    assert run("./build/parts").stdout == PARTS


@pytest.mark.long
def test_what_is_not_there_is_named_by_the_linker(run, tmp_path):
    (tmp_path / "lost.cu").write_text("void lost(); int main() { lost(); }")
    assert "undefined reference to `lost()'" in run("nvcc", "lost.cu", status=1).stderr


def test_what_a_header_has_for_other_gpus_is_refused_where_it_is_called(run):
    run("nvcc", SOURCES / "many.cu", "-o", "many")
    done = run("./many", status=1)
    assert done.stdout == "12\n"
    assert "does not run inline PTX (wgmma.fence.sync.aligned: this instruction is not" in done.stderr


def test_no_function_of_the_driver_is_found_by_name(run):
    run("nvcc", SOURCES / "entry_points.cu", "-o", "entry_points")
    assert run("./entry_points").stdout == "cudaSuccess 0 2\ncudaErrorInvalidValue 72\n"


@pytest.mark.long
def test_cutlass_multiplies(run, tmp_path):
    """As its wheel has it, unchanged: by SIMT and by Ampere's tensor cores."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "-d",
        tmp_path,
        "nvidia-cutlass==4.2.0.0",
    ]
    if subprocess.run(pip, capture_output=True, check=False).returncode:
        pytest.skip("there is no wheel of CUTLASS")
    (wheel,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path)
    source = tmp_path / "cutlass_library" / "source"
    folders = ("-I", source / "include", "-I", source / "tools" / "util" / "include")
    run("nvcc", "-std=c++17", *folders, SOURCES / "cutlass_gemm.cu", "-o", "gemm")
    assert run("./gemm").stdout == "0 0\n"  # its numbers are eighths, whose sums float32 holds


GRAPHS = """captured: cudaSuccess
6 nodes, 2 roots, -1 so far, 0 calls
600, 3 calls
updated: cudaSuccess
2600, 4 calls
10
1 3
set: cudaSuccess
1007
a ring: cudaErrorInvalidValue
begun on the default stream: cudaErrorStreamCaptureUnsupported
memory: cudaErrorStreamCaptureUnsupported
ended: cudaErrorStreamCaptureInvalidated
memory: cudaSuccess
a wait: cudaErrorStreamCaptureUnsupported
ended: cudaErrorStreamCaptureInvalidated
on the default stream: cudaErrorStreamCaptureImplicit
ended: cudaErrorStreamCaptureInvalidated
an event: cudaErrorCapturedEvent
not joined: cudaErrorStreamCaptureUnjoined
an empty one: cudaSuccess
"""


@pytest.mark.parametrize("sanitized", ["", "memory,sync"])
def test_graphs_of_a_program(run, sanitized):
    run("nvcc", "-std=c++17", SOURCES / "graphs.cu", "-o", "graphs", MORPH_SANITIZE=sanitized)
    assert run("./graphs", MORPH_SANITIZE=sanitized).stdout == GRAPHS


def test_pools_of_memory(run):
    run("nvcc", SOURCES / "pools.cu", "-o", "pools")
    assert run("./pools").stdout == "1 1 93 1 1 1\n"


def test_a_template_is_called_as_nvcc_takes_it(run, tmp_path):
    (tmp_path / "lenient.cu").write_text(
        "#include <cstdio>\n"
        "template <class T> struct Cast { template <int n> static __device__ T cast(T x) { return x * n; }\n"
        "  static constexpr int size = 3; };\n"
        "template <class T> __device__ T twice(T x) { return Cast<T>::cast<2>(x)"
        " + (Cast<T>::size < 2 && 3 > (x)); }\n"
        '__global__ void kernel() { printf("%d %d\\n", twice(4), Cast<int>::cast<3>(5)); }\n'
        "int main() { kernel<<<1, 1>>>(); return cudaDeviceSynchronize(); }\n"
    )
    run("nvcc", "lenient.cu", "-o", "lenient")
    assert run("./lenient").stdout == "8 15\n"

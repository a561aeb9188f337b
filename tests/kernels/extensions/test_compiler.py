"""The compiler ``nvcc`` of the toolkit: what it refuses, its options, and its place in errors."""

import pathlib
import subprocess

import pytest
import torch

from morph.kernels.extensions import headers, toolkit
from morph.kernels.extensions.nvcc import architecture
from morph.kernels.extensions.options import OptionError, parse
from morph.software.settings import TOOLKIT

KERNEL = "#include <cuda_runtime.h>\n__global__ void kernel(int* out) {\n  %s\n}\n"
REFUSED = {
    'asm("addc.u32 %0, %0, 1;" : "+r"(out[0]));': "inline PTX (addc.u32 $0, $0, 1: no instruction before",
    'asm("mov.u32 %0, 1;" : "=x"(out[0]));': 'inline PTX (the operand "=x"(out[0]) is not understood',
    'asm("mov.u32 %[x], 1;" : [y] "=r"(out[0]));': "inline PTX (there is no operand x)",
    "asm volatile(TEXT);": "inline PTX (its text is not made of string literals alone)",
    "kernel<<<1, 1>>>(out);": "dynamic parallelism",
    "texture<float, 2, cudaReadModeElementType> t;": "texture references; they were removed in CUDA 12",
    "cudaMallocMipmappedArray(0, 0, {}, 2);": "mipmapped arrays",
    "at::cuda::blas::gemm<float>('n');": "at::cuda::blas",
}


@pytest.fixture(scope="module")
def nvcc() -> pathlib.Path:
    return toolkit.assemble().home / "bin" / "nvcc"


def compile_source(nvcc: pathlib.Path, folder: pathlib.Path, source: str, *options: str) -> tuple[int, str]:
    (folder / "kernel.cu").write_text(source)
    command = [nvcc, "-c", "kernel.cu", "-o", "kernel.o", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr + done.stdout


@pytest.mark.parametrize("statement", REFUSED)
def test_what_cannot_be_right_is_refused_with_file_and_line(nvcc, tmp_path, statement):
    status, said = compile_source(nvcc, tmp_path, KERNEL % statement)
    assert status == 1
    assert said.startswith("kernel.cu:3: error: the software device does not run ")
    assert REFUSED[statement] in said


@pytest.mark.parametrize(
    ("header", "call"),
    [
        ("cublas_v2.h", "cublasCherk(0)"),
        ("cusparse.h", "cusparseSbsrsm2_solve(0)"),
        ("cusolverDn.h", "cusolverDnDgebrd(0)"),
        ("curand.h", "curandGenerateLongLong(0, 0, 0)"),
        ("curand_kernel.h", "curand_discrete(0, 0)"),
        ("cufft.h", "cufftExecXt(0)"),
    ],
)
def test_a_function_of_a_library_is_refused_by_name(nvcc, tmp_path, header, call):
    source = (
        f"#include <{header}>\n#define CHECK(call) if (call) return 1\nint run() {{\n  CHECK({call});\n}}"
    )
    status, said = compile_source(nvcc, tmp_path, source)
    assert status == 1
    assert f"kernel.cu:4: error: the software device has no {call.partition('(')[0]} of cu" in said


def test_a_function_of_the_programs_own_is_not_a_librarys(nvcc, tmp_path):
    source = "#include <cublas_v2.h>\nstatic const char *cublasTextOf(cublasStatus_t) { return 0; }\n"
    source += "const char* run() { return cublasTextOf(cublasCreate(nullptr)); }\n"
    assert compile_source(nvcc, tmp_path, source) == (0, "")


@pytest.mark.parametrize("header", ["texture_fetch_functions.h", "thrust/partition.h", "cusolverMg.h"])
def test_a_header_that_is_not_served_is_refused_by_name(nvcc, tmp_path, header):
    theirs = tmp_path / "include" / header  # a program may bring its own
    theirs.parent.mkdir(parents=True)
    theirs.touch()
    status, said = compile_source(nvcc, tmp_path, f"#include <{header}>\n", "-I", "include")
    assert status == 1
    assert "kernel.cu:1" in said
    assert f"morph: {header}: the software device has no " in said


def test_code_by_the_target(nvcc, tmp_path):
    source = """#include <nv/target>
    constexpr int which() {
      NV_DISPATCH_TARGET(NV_PROVIDES_SM_90, (return 90;), NV_IS_HOST, (return 0;), NV_PROVIDES_SM_75, (
        int x[] = {7, 5}; return 10 * x[0] + x[1];), NV_ANY_TARGET, (return 1;))
    }
    constexpr int is_device() { NV_IF_ELSE_TARGET(NV_IS_DEVICE, (return 1;), (return 0;)) }
    constexpr int on_the_host() { NV_IF_TARGET(NV_IS_HOST, (return 1;)) return 0; }
    static_assert(which() == 75 && is_device() && !on_the_host() && NV_IS_EXACTLY_SM_80);
    """
    assert compile_source(nvcc, tmp_path, source) == (0, "")


def test_a_version_that_comes_with_a_programs_own_headers_is_theirs(nvcc, tmp_path):
    (tmp_path / "include" / "thrust").mkdir(parents=True)
    (tmp_path / "include" / "thrust" / "version.h").write_text("#define OWN thrust\n")
    source = "#include <thrust/version.h>\n#include <thrust/pair.h>\nOWN::pair<int, int> %s;\n"
    assert compile_source(nvcc, tmp_path, source % "theirs", "-I", "include") == (0, "")
    bare = source.replace("OWN", "thrust") % "pair" + "static_assert(THRUST_VERSION >= 200000);\n"
    assert compile_source(nvcc, tmp_path, bare) == (0, "")


def test_a_barrier_of_the_hardware_is_refused_where_it_is_asked_for(nvcc, tmp_path):
    source = "#include <cuda/barrier>\nusing Barrier = cuda::barrier<cuda::thread_scope_block>;\n"
    source += "template <class T>\n__global__ void kernel(Barrier* at, void** out) {\n"
    source += "  *out = cuda::device::barrier_native_handle(*at);\n}\n"
    assert compile_source(nvcc, tmp_path, source) == (0, "")
    status, said = compile_source(
        nvcc, tmp_path, source + "template __global__ void kernel<int>(Barrier*, void**);\n"
    )
    assert status == 1
    assert "kernel.cu:5:" in said
    assert "morph: the software device has no hardware barriers" in said


def test_a_launch_by_macros_of_a_systems_header(nvcc, tmp_path):
    """The preprocessor begins a line anew after each of them; torch names the toolkit's headers so."""
    source = KERNEL % "out[0] = 1;" + "void run(int* out) {\n  dim3 gridDim, blockDim;\n"
    source += "  kernel<<<gridDim, blockDim, 0,\n    nullptr>>>(out);\n}\n"
    assert compile_source(nvcc, tmp_path, source, "-isystem", str(nvcc.parents[1] / "include")) == (0, "")


def test_the_hosts_code_may_have_functions_of_its_own_that_nvcc_has(nvcc, tmp_path):
    source = "#include <cuda_runtime.h>\n#include <cuda_fp16.h>\ninline int max(int a, int b) { return a; }\n"
    (tmp_path / "own.cpp").write_text(source + "inline float rsqrtf(float x) { return max(1, 2); }\n")
    subprocess.run([nvcc, "-c", "own.cpp", "-o", "own.o"], cwd=tmp_path, check=True)


def test_assembly_of_the_host_is_left_to_the_hosts_compiler(nvcc, tmp_path):
    source = '__asm__(".symver powf,powf@GLIBC_2.2.5");\nvoid pause() { asm volatile("pause"); }\n'
    assert compile_source(nvcc, tmp_path, source) == (0, "")


def test_a_remainder_by_what_is_translated_is_no_digraph(nvcc, tmp_path):
    source = KERNEL % "out[0] = threadIdx.x%blockDim.x + 7%(int)1.5f;"
    assert compile_source(nvcc, tmp_path, source) == (0, "")


def test_default_arguments_that_only_the_definition_has(nvcc, tmp_path):
    source = """
namespace of {
template <int N, class T> __device__ constexpr int f(T x, int y, int z);
template <int N, class T> __device__ constexpr int f(T* x, int start, int z);
}
namespace of {
template <int N, class T>
__device__ constexpr int f(T x, int y = 1,
                           int z = N) {
  return x * 100 + y * 10 + z;
}
}
static_assert(of::f<4>(2) == 214 && of::f<4>(2, 3) == 234);
"""
    assert compile_source(nvcc, tmp_path, source) == (0, "")


@pytest.mark.parametrize("option", ["-std=c++11", "-std=c++17", "-std=c++20"])
def test_each_header_of_cudas_libraries_compiles(nvcc, tmp_path, option):
    folders = ("cooperative_groups/", "cub/", "cuda/", "thrust/")
    names = sorted(name for each in headers.served().values() for name in each if name.startswith(folders))
    source = "".join(f"#include <{name}>\n" for name in names)
    assert compile_source(nvcc, tmp_path, source, option) == (0, "")


def test_thrusts_complex_numbers_bring_the_limits_of_floats(nvcc, tmp_path):
    source = "#include <thrust/complex.h>\nstatic_assert(FLT_MIN > 0 && DBL_MAX > 1);\n"
    assert compile_source(nvcc, tmp_path, source) == (0, "")


@pytest.mark.parametrize(
    ("profile", "options", "expected"),
    [
        ("", [], 800),
        ("", ["-gencode=arch=compute_70,code=sm_70", "-gencode=arch=compute_90a,code=sm_90a"], 700),
        ("", ["--generate-code", "arch=compute_90a,code=sm_90a"], 800),
        ("", ["-arch=sm_52"], 800),
        ("t4", ["-gencode", "arch=compute_75,code=sm_75", "-gencode", "arch=compute_80,code=sm_80"], 750),
        ("v100", [], 700),
        ("l4", ["--gpu-architecture=sm_89"], 890),
        ("h100", ["-arch", "sm_86"], 860),
    ],
)
def test_the_architecture_is_the_newest_that_the_card_runs(monkeypatch, profile, options, expected):
    monkeypatch.setenv("MORPH_DEVICE_PROFILE", profile)
    assert architecture(parse(options)) == expected


def test_a_source_knows_the_architecture(nvcc, tmp_path, monkeypatch):
    monkeypatch.setenv("MORPH_DEVICE_PROFILE", "t4")
    assert compile_source(nvcc, tmp_path, "static_assert(__CUDA_ARCH__ == 750);") == (0, "")


def test_the_architecture_of_an_unknown_card_is_an_error(nvcc, tmp_path, monkeypatch):
    monkeypatch.setenv("MORPH_DEVICE_PROFILE", "t5")
    status, said = compile_source(nvcc, tmp_path, "")
    assert status == 1
    assert said.startswith("MORPH_DEVICE_PROFILE: there is no profile 't5'")


def test_a_check_that_there_is_not_is_an_error(nvcc, tmp_path, monkeypatch):
    monkeypatch.setenv("MORPH_SANITIZE", "memory,rase")
    status, said = compile_source(nvcc, tmp_path, "")
    assert (status, said) == (
        1,
        "MORPH_SANITIZE: what is checked must be of memory, init, race, sync, host, leak, not 'rase'\n",
    )


def test_an_error_of_the_user_keeps_its_line(nvcc, tmp_path):
    status, said = compile_source(nvcc, tmp_path, KERNEL % "out[0] = missing;")
    assert status == 1
    assert "kernel.cu:3:12: error: " in said


def test_a_macro_that_launches_and_an_empty_asm_compile(nvcc, tmp_path):
    source = KERNEL % 'out[threadIdx.x] = 1; asm volatile("" ::: "memory");'
    source += "#define RUN(NAME, ...) NAME<< <dim3(1), dim3(32), 0, nullptr>> >(__VA_ARGS__)\n"
    source += 'extern "C" const char* run(int* out) { RUN(kernel, out); return "<<< >>>"; }\n'
    source += "__global__ void __launch_bounds__(((((64)) > 32 ? (64) : (32))), (1)) bounded() {}\n"
    source += '#include <iostream>\nvoid say() { std::cerr << "a" << "b" << std::endl; }\n'
    assert compile_source(nvcc, tmp_path, source, "-O3", "--use_fast_math", "-Xptxas", "-v") == (0, "")


LITERALS = """#include <cuda_runtime.h>
#include <cassert>
#define TEXT(...) #__VA_ARGS__
extern "C" const char* text() { return "__global__ void f(__shared__ int* x) __constant__"; }
extern "C" const char* raw() { return R"(static __shared__ "__device__" __assert_fail)"; }
extern "C" const char* made() { return TEXT(__host__ __noinline__ void f()); }
extern "C" const char* bounds() { return TEXT(__launch_bounds__(64)); }
extern "C" char character() { assert("__managed__"); return '"'; }
__global__ void kernel(int* out) { __shared__ int kept; kept = 1; out[0] = kept; }
"""


def test_words_in_literals_stay(nvcc, tmp_path):
    assert compile_source(nvcc, tmp_path, LITERALS) == (0, "")
    compiled = (tmp_path / "kernel.o").read_bytes()
    for literal in (
        "__global__ void f(__shared__ int* x) __constant__",
        'static __shared__ "__device__" __assert_fail',
        "__host__ __noinline__ void f()",
        "__launch_bounds__(64)",
    ):
        assert f"{literal}\0".encode() in compiled


def test_a_compiler_of_several_words(nvcc, tmp_path, monkeypatch):
    compiler = tmp_path / "my compiler"
    compiler.write_text('#!/bin/sh\n[ "$1" = -DOWN=7 ] || exit 3\nexec c++ "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", f"env LC_ALL=C '{compiler}' -DOWN=7")
    assert compile_source(nvcc, tmp_path, KERNEL % "out[0] = OWN;") == (0, "")
    (tmp_path / "plain.cpp").write_text("int own() { return OWN; }\n")
    subprocess.run([nvcc, "-c", "plain.cpp", "-o", "plain.o"], cwd=tmp_path, check=True)
    subprocess.run([nvcc, "-dlink", "plain.o", "-o", "link.o"], cwd=tmp_path, check=True)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("'c++", "CXX is no command: No closing quotation: 'c++\n"),
        (
            "missing-c++ -m64",
            "the compiler missing-c++ does not start: No such file or directory; CXX names another\n",
        ),
    ],
)
def test_a_compiler_that_is_none(nvcc, tmp_path, monkeypatch, command, said):
    monkeypatch.setenv("CXX", command)
    assert compile_source(nvcc, tmp_path, KERNEL % "") == (1, said)


def test_a_preprocessed_source_goes_where_it_is_asked_for(nvcc, tmp_path):
    compile_source(nvcc, tmp_path, KERNEL % "out[0] = 7;")
    preprocess = [nvcc, "-E", "kernel.cu"]
    printed = subprocess.run(preprocess, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    said = subprocess.run([*preprocess, "-o", "kernel.ii"], cwd=tmp_path, capture_output=True, check=True)
    assert said.stdout == b""
    assert "out[0] = 7;" in printed
    assert (tmp_path / "kernel.ii").read_text() == printed


def test_version_is_that_of_torch(nvcc):
    said = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    assert f"release {torch.version.cuda or TOOLKIT}, V" in said


def test_options_of_nvcc_become_those_of_gxx():
    words = (
        "-MD -MF a.d -DNAME=1 -isystem inc -Iother --expt-relaxed-constexpr -lineinfo "
        "-gencode=arch=compute_80,code=sm_80 --compiler-options '-fPIC' -Xcompiler -fopenmp,-g -std=c++17 "
        "-O3 --threads 4 -maxrregcount=64 -c a.cu -o a.o -U__CUDA_NO_HALF_OPERATORS__ --ptxas-options=-v "
        "-ccbin g++ -Xcudafe --diag_suppress=1"
    )
    options = parse(words.split())
    assert (options.sources, options.output, options.step) == (["a.cu"], "a.o", "compile")
    assert options.dependencies == "a.d"
    expected = ["-DNAME=1", "-isystem", "inc", "-Iother", "-std=c++17", "-U__CUDA_NO_HALF_OPERATORS__"]
    assert options.preprocessor == expected
    assert options.compiler == ["-g1", "-fPIC", "-fopenmp", "-g", "-std=c++17", "-O3"]


def test_options_of_programs_and_of_cmake(tmp_path):
    (tmp_path / "includes.rsp").write_text('-isystem "a folder" -DNAME')
    words = [
        "--options-file",
        str(tmp_path / "includes.rsp"),
        "-dc",
        "-MD",
        "-MT",
        "target",
        "-x",
        "cu",
        "a.cpp",
    ]
    options = parse(words)
    assert options.preprocessor == ["-isystem", "a folder", "-DNAME"]
    assert (options.step, options.dependent, options.cuda) == ("compile", "target", True)
    assert parse(["-lib", "a.o", "-o", "b.a"]).step == "archive"
    assert [parse([word]).dry for word in ("-v", "--dryrun")] == [False, True]


def test_machine_code_is_refused_by_name():
    with pytest.raises(OptionError, match=r"nvcc -optix-ir: the software device does not run OptiX"):
        parse(["-optix-ir", "a.cu"])
    with pytest.raises(OptionError, match="a value is missing"):
        parse(["a.cu", "-o"])

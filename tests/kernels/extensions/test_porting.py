"""CUDA extensions as Moore Threads' MUSA C++: the sources and the arguments that its builder would get."""

import pathlib
import subprocess
import sys
import textwrap

import pytest

from morph.kernels.extensions.porting import PortingError, dialect, port, port_files

SOURCE = """
    #include <torch/extension.h>
    #include <ATen/cuda/CUDAContext.h>
    #include <c10/cuda/CUDAGuard.h>
    #include <cuda_fp16.h>
    #include <cub/cub.cuh>
    #include "own.cuh"
    // cudaMalloc, in a comment
    template <class T> __global__ void half_of(const T* x, T* y, __nv_bfloat16 z) { accumulate(x, y); }
    at::Tensor halve_cuda(at::Tensor x) {
      TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor: cudaMalloc");
      at::cuda::OptionalCUDAGuard guard(x.device());
      cudaStream_t stream = at::cuda::getCurrentCUDAStream();
      half_of<<<1, 32, 0, stream>>>(x, y, z);
      C10_CUDA_CHECK(cudaMemsetAsync(p, 0, 4, stream)); CUdeviceptr d; curandState state; cublasSgemm(h);
      return at::empty({4}, at::kCUDA);
    }
    TORCH_LIBRARY_IMPL(halves, CUDA, m) { m.impl("halve", halve_cuda); }
"""
PORTED = """
    #include <torch/extension.h>
    #include <torch_musa/csrc/aten/musa/MUSAContext.h>
    #include <torch_musa/csrc/core/MUSAGuard.h>
    #include <musa_fp16.h>
    #include <cub/cub.cuh>
    #include "own.cuh"
    // cudaMalloc, in a comment
    template <class T> __global__ void half_of(const T* x, T* y, __mt_bfloat16 z) { accumulate(x, y); }
    at::Tensor halve_cuda(at::Tensor x) {
      TORCH_CHECK(x.is_privateuseone(), "x must be a CUDA tensor: cudaMalloc");
      at::musa::OptionalMUSAGuard guard(x.device());
      musaStream_t stream = at::musa::getCurrentMUSAStream();
      half_of<<<1, 32, 0, stream>>>(x, y, z);
      C10_MUSA_CHECK(musaMemsetAsync(p, 0, 4, stream)); MUdeviceptr d; murandState state; mublasSgemm(h);
      return at::empty({4}, at::kPrivateUse1);
    }
    TORCH_LIBRARY_IMPL(halves, PrivateUse1, m) { m.impl("halve", halve_cuda); }
"""
BUILDER = """
def MUSAExtension(name, *args, **kwargs):
    return name, args, kwargs
class BuildExtension: ...
"""
SETUP = """
import sys, torch, types
sys.modules["torch_musa.utils"] = types.ModuleType("torch_musa.utils")
sys.modules["torch_musa.utils"].__path__ = ["."]
from torch.utils.cpp_extension import BuildExtension, CUDAExtension
nvcc = ["-O2", "-gencode", "arch=compute_80,code=sm_80", "--use_fast_math", "-D__CUDA_NO_HALF_OPERATORS__"]
sources = ["csrc/halve.cu", "csrc/bind.cpp"]
flags = {"cxx": ["-O3"], "nvcc": nvcc}
extension = CUDAExtension("halves", sources, include_dirs=["csrc/include"], extra_compile_args=flags)
name, args, kwargs = extension
print(BuildExtension.__module__, name, kwargs.pop("extra_compile_args"))
print(*kwargs.pop("sources"), *kwargs.pop("include_dirs"), kwargs)
"""


def test_a_source_is_ported_by_the_table():
    assert port(SOURCE, "halve.cu", dialect("musa")) == PORTED


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("#include <ATen/cuda/CUDASparse.h>", "no header is known there for ATen/cuda/CUDASparse.h"),
        ("#include <cudnn.h>", "no header is known there for cudnn.h"),
        ('asm volatile("mov.u32 %0, %laneid;");', "inline PTX"),
    ],
)
def test_what_it_does_not_have_is_refused_with_the_line(line, said):
    with pytest.raises(PortingError, match=rf"halve.cu:3: error: {said}"):
        port(f"// asm\n\n{line}\n", "halve.cu", dialect("musa"))


def test_torch_musas_builder_gets_ported_sources(tmp_path: pathlib.Path):
    (tmp_path / "csrc" / "include").mkdir(parents=True)
    (tmp_path / "csrc" / "halve.cu").write_text(textwrap.dedent(SOURCE))
    (tmp_path / "csrc" / "bind.cpp").write_text("at::Tensor halve_cuda(at::Tensor x);\n")
    (tmp_path / "csrc" / "include" / "own.cuh").write_text("#define STREAM cudaStream_t\n")
    (tmp_path / "musa_extension.py").write_text(BUILDER)
    command = [sys.executable, "-m", "morph", "--rehearse", "musa", "-c", SETUP]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "build" / "musa" / "halves"
    flags = {"cxx": ["-O3"], "mcc": ["-D__MUSA_NO_HALF_OPERATORS__", "-O2"]}
    assert done.stdout.splitlines() == [
        f"torch_musa.utils.musa_extension halves {flags}",
        f"{folder}/halve.mu {folder}/bind.cpp {folder}/include {{}}",
    ]
    assert (folder / "halve.mu").read_text() == textwrap.dedent(PORTED)
    assert (folder / "include" / "own.cuh").read_text() == "#define STREAM musaStream_t\n"


def lay(folder: pathlib.Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def written_below(folder: pathlib.Path) -> set[str]:
    return {str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file()}


def test_only_what_sources_include_is_ported(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    installed = ".venv/lib/python3/site-packages/torch/include/torch.h"
    lay(
        tmp_path,
        {
            "k.cu": '#include "own.cuh"\n// #include "old.cuh"\n#include <torch.h>\n#include <helpers/all.h>',
            "own.cuh": '#define NEXT "next.cuh"\n#include NEXT\n',
            "next.cuh": '#include "own.cuh"\nextern cudaStream_t stream;\n',
            "include/helpers/all.h": '#include "one.inc"\n',
            "include/helpers/one.inc": "cudaError_t one();\n",
            "old.cuh": '__asm__("");\n',
            ".venv/header.h": '__asm__("");\n',
            installed: '__asm__("");\n',
        },
    )
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "build"
    searched = ["include", str((tmp_path / installed).parent)]
    written = port_files(["k.cu"], searched, folder, dialect("musa"))
    ported = {"k.mu", "own.cuh", "next.cuh", "include/helpers/all.h", "include/helpers/one.inc"}
    assert written_below(folder) == ported
    assert written[str(tmp_path / "include")] == str(folder / "include")
    assert str((tmp_path / installed).parent) not in written
    assert (folder / "next.cuh").read_text().endswith("extern musaStream_t stream;\n")


def test_sources_that_lie_far_apart(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    lay(tmp_path, {"home/me/a.cu": '#include "../shared.h"\n', "opt/b.cu": '#include "b.h"\n'})
    lay(tmp_path, {"home/shared.h": "", "opt/b.h": "", "home/other.h": "asm", "opt/other.cu": "asm"})
    monkeypatch.chdir(tmp_path / "home")
    sources = ["me/a.cu", str(tmp_path / "opt" / "b.cu")]
    written = port_files(sources, [], tmp_path / "build", dialect("musa"))
    assert written_below(tmp_path / "build") == {"home/me/a.mu", "home/shared.h", "opt/b.mu", "opt/b.h"}
    assert written[str(tmp_path / "opt" / "b.cu")] == str(tmp_path / "build" / "opt" / "b.mu")


def test_a_source_that_is_not_there(tmp_path: pathlib.Path):
    with pytest.raises(PortingError, match=r"missing\.cu: error: there is no such source"):
        port_files([str(tmp_path / "missing.cu")], [], tmp_path / "build", dialect("musa"))

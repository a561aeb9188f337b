"""A file of CUDA source: its fate on each backend, and what in it the software device does not build."""

from __future__ import annotations

import pathlib
import textwrap

import pytest

from morph.kernels.extensions import headers
from morph.source.scan.report import Finding
from tests.scan.test_scanning import scanned

KERNEL = """
    #include <cuda_runtime.h>
    #include <nvrtc.h>
    #include "cutlass/gemm/device/gemm.h"
    // asm("in a comment"); #include <mma.h>
    #define LANE(x) asm volatile("mov.u32 %0, %%laneid;" : "=r"(x))
    __device__ const char* text = "asm volatile(wmma::";
    __global__ void inner(int* out) { asm volatile("" ::: "memory"); }
    #ifdef USE_ROCM
    __global__ void outer(int* out) { asm("s_nop 0");
    #else
    __global__ void outer(int* out) {
    #endif
      inner<<<1, 1>>>(out);
    }
    void run(int* out) { outer<<<1, 1>>>(out); }
"""
FOUND = [
    (1, "kernel.cu", "cuda-source"),
    (3, "nvrtc.h", "cuda-library"),
    (4, "cutlass/", "cuda-feature"),
    (6, "inline PTX", "cuda-feature"),
    (14, "dynamic parallelism", "cuda-feature"),
]


@pytest.fixture
def findings(tmp_path: pathlib.Path) -> list[Finding]:
    (tmp_path / "kernel.cu").write_text(textwrap.dedent(KERNEL))
    (tmp_path / "host.h").write_text('inline void pause() { asm volatile("pause"); }\n')
    (tmp_path / "device.h").write_text('__device__ void pause() { asm volatile("nanosleep.u32 1;"); }\n')
    return list(scanned(tmp_path).findings)


def test_what_is_refused_is_named_with_its_line(findings: list[Finding]) -> None:
    shown = [(each.use.place.line, each.use.name, each.use.rule) for each in findings]
    assert shown == [(1, "inline PTX", "cuda-feature"), *FOUND]
    assert findings[0].file.name == "device.h"


def test_the_fate_of_a_source_on_each_backend(findings: list[Finding]) -> None:
    [source] = [each for each in findings if each.use.rule == "cuda-source"]
    assert {name for name, answer in source.answers.items() if answer.look} == {"npu", "mlu", "musa", "xpu"}
    assert "morph refuses it" in source.answers["npu"].note
    assert "ports the sources" in source.answers["musa"].note
    assert "hipify" in source.answers["rocm"].note
    assert "g++" in source.answers["cpu"].note


def test_a_library_has_amds_in_its_place_and_a_feature_has_nothing(findings: list[Finding]) -> None:
    library, folder, *_, nested = [each for each in findings if each.file.name == "kernel.cu"][1:]
    assert not library.answers["rocm"].look
    assert library.answers["cpu"].look
    assert all(answer.look for answer in [*folder.answers.values(), *nested.answers.values()])
    assert (
        nested.answers["cpu"].note == "the software device does not run it; launch both kernels from the host"
    )


def test_what_is_served_of_a_refused_folder_is_not_refused() -> None:
    assert headers.refused("cub/cub.cuh") is None
    assert headers.refused("cute/atom/mma_atom.hpp") == "cute/"
    assert headers.refused("nccl.h") == "nccl.h"
